-- Makes a conversation that SQL does not have.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions, 8 alias
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 epoch under which SQL was asked,
--       5 "tenant/conversation", 6 kind, 7 history, 8 members, 9 most members of which each is told, 10 users
--       of this server (see is_here), 11 life of an index (s); then for each member: user, role
-- Gives {"verify"}, {"backlog"}, {"exists"}: it does, or another is the chat of the pair whose own id this
--       is, or {"ok", what tell() says}.
local FIXED = 11
local clock = clock_of(KEYS[1], ARGV[1])
if not clock or clock.epoch ~= ARGV[4] then return {'verify'} end
if redis.call('HGET', KEYS[3], 'base') == clock.base or redis.call('EXISTS', KEYS[8]) == 1 then return {'exists'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
redis.call('DEL', KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], unpack(beside(KEYS[5])))
local ms, low = tick(clock, tonumber(ARGV[2]))
local lines, ops, others, version = {}, {}, {}, next_version()
local op = tonumber(ARGV[8]) <= tonumber(ARGV[9]) and 'j' or 'J'
for i = FIXED + 1, #ARGV, 2 do
    redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1] .. ' 0 0 0 0 0 0 0 0 0')
    lines[#lines + 1] = ARGV[i] .. ' ' .. ARGV[i + 1] .. '\n'
    ops[#ops + 1] = op
    ops[#ops + 1] = ARGV[i]
end
local id, time = stamp_of(ms, low), ms + TIME_ZERO
redis.call('HSET', KEYS[3], 'base', clock.base, 'cid', id, 'kind', ARGV[6], 'history', ARGV[7], 'members', ARGV[8],
    'seq', 0, 'count', 0, 'epoch', clock.epoch, 'last', '0-0', 'hot', '0-0', 'front', '', 'kept', '0-0', 'logged', id, 'whole', 1,
    'shown', '0-0', 'shown_seq', 0, 'shown_status', 0, 'last_sender', '', 'last_kind', 0, 'last_summary', '', 'create_time', time, 'update_time', time,
    'version', version, 'placed', version, 'membership_version', version)
redis.call('XADD', KEYS[2], '*', 'v', string.format('c\n%d\n%d\n%s\n%s\n%s\n%s\n%s\n', ms, low, ARGV[5],
    clock.epoch, ARGV[6], ARGV[7], version)
    .. table.concat(lines))
save(clock)
note_all(ops, ARGV[5], version, ARGV[11], ARGV[10], others)
local out = {'ok'}
tell(out, version, others)
return out
