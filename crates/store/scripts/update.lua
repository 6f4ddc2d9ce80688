-- Changes settings of a hot conversation, and of a member in it: all of it or nothing.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 actor, 6 privileged (0|1),
--       7 muted (0|1, "" as it is), 8 history ("" as it is), 9 most members of which each is told, 10 users of
--       this server (see is_here), 11 life of an index (s), 12 for how long it keeps messages (ms, "-" as its type,
--       "" as it is), 13 whether it is held (0|1, "" as it is)
-- Gives {"verify"}, {"backlog"}, {"cold"}, {"stranger"}, {"single"}, {"hold"}: only a privileged actor holds it, {"manage"}:
--       only an owner or administrator changes history, {"keep"}: only one of a group how long it keeps messages, or {"ok", what tell() says}.
local OWNER, ADMIN, SINGLE, GROUP = '1', '2', '1', '2'
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[3], 'base', 'cid', 'kind', 'history', 'members', 'keep', 'hold')
if head[1] ~= clock.base then return {'cold'} end
local member, privileged = redis.call('HGET', KEYS[4], ARGV[5]), ARGV[6] == '1'
if not member and (ARGV[7] ~= '' or not privileged) then return {'stranger'} end
if ARGV[8] ~= '' and head[3] == SINGLE then return {'single'} end
if not privileged then
    local role = string.match(member, '^%d+')
    local manages = role == OWNER or role == ADMIN
    if ARGV[13] ~= '' then return {'hold'} end
    if ARGV[8] ~= '' and not manages then return {'manage'} end
    if ARGV[12] ~= '' and not (manages and head[3] == GROUP) then return {'keep'} end
end
-- What is as it is to be is no change.
local before, muted, read_version = string.match(member or '', '^(.*) (%d+) (%d+) %d+$')
local is_muting, is_opening = ARGV[7] ~= '' and ARGV[7] ~= muted, ARGV[8] ~= '' and ARGV[8] ~= head[4]
local is_keeping = ARGV[12] ~= '' and ARGV[12] ~= (head[6] or '-')
local is_holding = ARGV[13] ~= '' and ARGV[13] ~= (head[7] or '0')
if not (is_muting or is_opening or is_keeping or is_holding) then return tell_nothing({'ok'}) end

if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end

-- A member's own setting is no news of the conversation, and of a hold no member is told.
local lines, version, ops, now, time = {}, next_version(), {}, 0, wall_ms() + TIME_ZERO
if is_muting then
    redis.call('HSET', KEYS[4], ARGV[5], before .. ' ' .. ARGV[7] .. ' ' .. read_version .. ' ' .. version)
    lines[#lines + 1] = '! ' .. ARGV[5] .. ' ' .. ARGV[7] .. '\n'
    ops = { 'o', ARGV[5] }
end
if is_opening then
    redis.call('HSET', KEYS[3], 'history', ARGV[8])
    lines[#lines + 1] = '~ ' .. ARGV[8] .. '\n'
end
if is_keeping then
    if ARGV[12] == '-' then
        redis.call('HDEL', KEYS[3], 'keep')
    else
        redis.call('HSET', KEYS[3], 'keep', ARGV[12])
    end
    lines[#lines + 1] = '% ' .. ARGV[12] .. '\n'
end
if is_holding then
    redis.call('HSET', KEYS[3], 'hold', ARGV[13])
    lines[#lines + 1] = string.format('# %s %s %d\n', ARGV[13], ARGV[5], time)
end
if is_opening or is_keeping then
    now = time
    redis.call('HSET', KEYS[3], 'membership_version', version, 'update_time', now)
    if tonumber(head[5]) <= tonumber(ARGV[9]) then ops = for_members('o', KEYS[4]) end
end
local ms, low = tick(clock, tonumber(ARGV[2]))
redis.call('HSET', KEYS[3], 'logged', stamp_of(ms, low))
redis.call('XADD', KEYS[2], '*', 'v', string.format('g\n%d\n%d\n%s\n%s\n%d\n%d\n%s\n', ms, low, ARGV[4], head[2],
    head[5], now, version) .. table.concat(lines))
save(clock)
stay_hot({ KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] })
local out, others = {'ok'}, {}
note_all(ops, ARGV[4], version, ARGV[11], ARGV[10], others)
tell(out, version, others)
return out
