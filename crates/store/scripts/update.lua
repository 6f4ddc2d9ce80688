-- Changes settings of a hot conversation, and of a member in it: all of it or nothing.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 actor, 6 privileged (0|1),
--       7 muted (0|1, "" as it is), 8 history ("" as it is), 9 most members of which each is told, 10 users of
--       this server (see is_here), 11 life of an index (s)
-- Gives {"verify"}, {"backlog"}, {"cold"}, {"stranger"}, {"single"}, {"manage"}: only an owner or administrator
--       changes them, or {"ok", what tell() says}.
local OWNER, ADMIN, SINGLE = '1', '2', '1'
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[3], 'base', 'cid', 'kind', 'history', 'members')
if head[1] ~= clock.base then return {'cold'} end
local member, privileged = redis.call('HGET', KEYS[4], ARGV[5]), ARGV[6] == '1'
if not member and (ARGV[7] ~= '' or not privileged) then return {'stranger'} end
if ARGV[8] ~= '' then
    if head[3] == SINGLE then return {'single'} end
    local role = member and string.match(member, '^%d+')
    if not privileged and role ~= OWNER and role ~= ADMIN then return {'manage'} end
end
-- What is as it is to be is no change.
local before, muted, read_version = string.match(member or '', '^(.*) (%d+) (%d+) %d+$')
local is_muting, is_opening = ARGV[7] ~= '' and ARGV[7] ~= muted, ARGV[8] ~= '' and ARGV[8] ~= head[4]
if not is_muting and not is_opening then return tell_nothing({'ok'}) end

if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end

-- A member's own setting is no news of the conversation.
local lines, version, ops, now = {}, next_version(), {}, 0
if is_muting then
    redis.call('HSET', KEYS[4], ARGV[5], before .. ' ' .. ARGV[7] .. ' ' .. read_version .. ' ' .. version)
    lines[#lines + 1] = '! ' .. ARGV[5] .. ' ' .. ARGV[7] .. '\n'
    ops = { 'o', ARGV[5] }
end
if is_opening then
    now = wall_ms() + TIME_ZERO
    redis.call('HSET', KEYS[3], 'history', ARGV[8], 'membership_version', version, 'update_time', now)
    lines[#lines + 1] = '~ ' .. ARGV[8] .. '\n'
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
