-- Deletes what is kept of a user beside conversations.
--
-- KEYS  1 clock, 2 log, 3 user's state, 4 waiting, 5 due queue, 6 index, 7 other changes
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/user", 5 "partition/user"
-- Gives {"verify"}, {"backlog"} or {"ok"}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
redis.call('ZREM', KEYS[5], ARGV[5])
redis.call('DEL', KEYS[3], KEYS[4], KEYS[6], KEYS[7])
local ms, low = tick(clock, tonumber(ARGV[2]))
redis.call('XADD', KEYS[2], '*', 'v', string.format('y\n%d\n%d\n%s\n', ms, low, ARGV[4]))
save(clock)
return {'ok'}
