-- Changes what is kept of a user: forgets a device, or says what a push may show.
--
-- KEYS  1 clock, 2 log, 3 user's state
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/user", 5 life (s), 6 "device" or "show", 7 the
--       device, or 0 or 1
-- Gives {"verify"}, {"backlog"} or {"ok"}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
if redis.call('HGET', KEYS[3], 'base') ~= clock.base then
    redis.call('DEL', KEYS[3])
    redis.call('HSET', KEYS[3], 'base', clock.base)
end
local kind
if ARGV[6] == 'device' then
    kind = 'x'
    -- SQL may have it until it has read the log.
    redis.call('HSET', KEYS[3], 'd:' .. ARGV[7], '0 0')
else
    kind = 'w'
    redis.call('HSET', KEYS[3], 'show', ARGV[7])
end
redis.call('EXPIRE', KEYS[3], ARGV[5])
local ms, low = tick(clock, tonumber(ARGV[2]))
redis.call('XADD', KEYS[2], '*', 'v', string.format('%s\n%d\n%d\n%s\n%s\n', kind, ms, low, ARGV[4], ARGV[7]))
save(clock)
return {'ok'}
