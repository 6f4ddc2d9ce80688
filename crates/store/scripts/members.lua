-- Changes the members of a hot conversation: all of it or nothing.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 actor,
--       6 privileged (0|1), 7 members max, 8 added, 9 removed, 10 roles, 11 most members of which each is
--       told, 12 users of this server (see is_here), 13 life of an index (s); then the users added, those
--       removed, and for each role: user, role
-- Gives {"verify"}, {"backlog"}, {"cold"}, {"stranger"}, {"single"}, {"roles"}: only an
--       owner sets roles, {"manage"}: only an owner or administrator changes members, {"owner"}: only
--       an owner removes an owner, {"no member", user}, {"full"}, or {"ok", what tell() says}.
local FIXED = 13
local OWNER, ADMIN, MEMBER, SINGLE = '1', '2', '3', '1'
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[3], 'base', 'cid', 'kind', 'last', 'count', 'placed')
if head[1] ~= clock.base then return {'cold'} end
local added, removed, roles = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])

local function role_of(user)
    local member = redis.call('HGET', KEYS[4], user)
    return member and string.match(member, '^%d+')
end

local role, privileged = role_of(ARGV[5]), ARGV[6] == '1'
if not role and not privileged then return {'stranger'} end
if head[3] == SINGLE then return {'single'} end
if not privileged and role ~= OWNER then
    if roles > 0 then return {'roles'} end
    local only_self = added == 0
    for i = 1, removed do only_self = only_self and ARGV[FIXED + added + i] == ARGV[5] end
    if not only_self then
        if role ~= ADMIN then return {'manage'} end
        for i = 1, removed do
            if role_of(ARGV[FIXED + added + i]) == OWNER then return {'owner'} end
        end
    end
end

-- Looks before it leaps: a call that is refused changes nothing.
local will, joiners, leavers = {}, 0, 0
for i = 1, added do
    local user = ARGV[FIXED + i]
    if will[user] == nil and not role_of(user) then joiners = joiners + 1 end
    will[user] = true
end
for i = 1, removed do
    local user = ARGV[FIXED + added + i]
    local there = will[user]
    if there == nil then there = role_of(user) end
    if there then leavers = leavers + 1 end
    will[user] = false
end
for i = 1, roles do
    local user = ARGV[FIXED + added + removed + i * 2 - 1]
    local there = will[user]
    if there == nil then there = role_of(user) end
    if not there then return {'no member', user} end
end
if redis.call('HLEN', KEYS[4]) + joiners - leavers > tonumber(ARGV[7]) then return {'full'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end

local lines, ops, before = {}, {}, redis.call('HLEN', KEYS[4])
local last_ms, last_low = split(head[4])
for i = 1, added do
    local user = ARGV[FIXED + i]
    if not role_of(user) then
        redis.call('HSET', KEYS[4], user, string.format('%s %d %d %d %d %s 0 0 0 0', MEMBER, last_ms, last_low, last_ms,
            last_low, head[5]))
        redis.call('HDEL', KEYS[6], user)
        lines[#lines + 1] = string.format('+ %s %s %s\n', user, head[4], head[5])
        ops[user] = 'j'
    end
end
-- Positions stay: they never go back, and who joins again goes on where the device was.
for i = 1, removed do
    local user = ARGV[FIXED + added + i]
    if redis.call('HDEL', KEYS[4], user) == 1 then
        redis.call('HDEL', KEYS[6], user)
        lines[#lines + 1] = '- ' .. user .. '\n'
        ops[user] = 'l'
    end
end
for i = 1, roles do
    local a = FIXED + added + removed + i * 2 - 1
    local before, rest = string.match(redis.call('HGET', KEYS[4], ARGV[a]), '^(%d+)(.*)$')
    if before ~= ARGV[a + 1] then
        redis.call('HSET', KEYS[4], ARGV[a], ARGV[a + 1] .. rest)
        lines[#lines + 1] = '= ' .. ARGV[a] .. ' ' .. ARGV[a + 1] .. '\n'
        ops[ARGV[a]] = ops[ARGV[a]] or 'o'
    end
end
if #lines == 0 then return tell_nothing({'ok'}) end
local ms, low = tick(clock, tonumber(ARGV[2]))
local members = redis.call('HLEN', KEYS[4])
local now = wall_ms() + TIME_ZERO
local version = next_version()
redis.call('HSET', KEYS[3], 'members', members, 'update_time', now, 'logged', stamp_of(ms, low), 'membership_version', version)
redis.call('XADD', KEYS[2], '*', 'v', string.format('g\n%d\n%d\n%s\n%s\n%d\n%d\n%s\n', ms, low, ARGV[4], head[2], members, now,
    version)
    .. table.concat(lines))
save(clock)
stay_hot({ KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] })

-- Of a change each member is told, unless they are too many; when they become too many or few enough, all
-- indexes change.
local told_max, here, others = tonumber(ARGV[11]), ARGV[12], {}
local is_wide, was_wide = members > told_max, before > told_max
if is_wide ~= was_wide or not is_wide then
    local op = is_wide and 'w' or was_wide and 'n' or 'o'
    for _, user in ipairs(redis.call('HKEYS', KEYS[4])) do ops[user] = ops[user] ~= 'j' and op or 'j' end
end
local list = {}
for user, op in pairs(ops) do
    list[#list + 1] = op == 'j' and is_wide and 'J' or op
    list[#list + 1] = user
end
note_all(list, ARGV[4], version, ARGV[13], here, others, head[6])
local out = {'ok'}
tell(out, version, others, head[6])
return out
