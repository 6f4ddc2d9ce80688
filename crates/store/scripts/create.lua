-- Makes a conversation that SQL does not have.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions, 8 alias
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 epoch under which SQL was asked,
--       5 "tenant/conversation", 6 kind, 7 history, 8 members; then for each member: user, role
-- Gives {"verify"}, {"backlog"}, {"exists"}: it does, or another is the chat of the pair whose own id this
--       is, or {"ok"}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock or clock.epoch ~= ARGV[4] then return {'verify'} end
if redis.call('HGET', KEYS[3], 'base') == clock.base or redis.call('EXISTS', KEYS[8]) == 1 then return {'exists'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
redis.call('DEL', KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7])
local ms, low = tick(clock, tonumber(ARGV[2]))
local lines = {}
for i = 9, #ARGV, 2 do
    redis.call('HSET', KEYS[4], ARGV[i], ARGV[i + 1] .. ' 0 0 0 0 0 0 0')
    lines[#lines + 1] = ARGV[i] .. ' ' .. ARGV[i + 1] .. '\n'
end
local id, time = stamp_of(ms, low), ms + TIME_ZERO
redis.call('HSET', KEYS[3], 'base', clock.base, 'cid', id, 'kind', ARGV[6], 'history', ARGV[7], 'members', ARGV[8],
    'seq', 0, 'count', 0, 'epoch', clock.epoch, 'last', '0-0', 'hot', '0-0', 'front', '', 'kept', '0-0', 'logged', id, 'whole', 1,
    'last_sender', '', 'last_kind', 0, 'last_summary', '', 'create_time', time, 'update_time', time)
redis.call('XADD', KEYS[2], '*', 'v', string.format('c\n%d\n%d\n%s\n%s\n%s\n%s\n', ms, low, ARGV[5],
    clock.epoch, ARGV[6], ARGV[7])
    .. table.concat(lines))
save(clock)
return {'ok'}
