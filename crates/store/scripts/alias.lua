-- Makes a conversation the chat of a pair, unless the pair has one.
--
-- KEYS  1 clock, 2 log, 3 alias, 4 head of the pair's own conversation
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 epoch under which SQL was asked,
--       5 "tenant/own id of the pair", 6 conversation
-- Gives {"verify"}, {"backlog"}, {"own"}: the pair's own conversation exists, or {"ok", conversation}:
--       the pair's chat.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock or clock.epoch ~= ARGV[4] then return {'verify'} end
local found = redis.call('GET', KEYS[3])
if found then return {'ok', found} end
if redis.call('HGET', KEYS[4], 'base') == clock.base then return {'own'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
local ms, low = tick(clock, tonumber(ARGV[2]))
redis.call('XADD', KEYS[2], '*', 'v', string.format('a\n%d\n%d\n%s\n%s\n', ms, low, ARGV[5], ARGV[6]))
save(clock)
redis.call('SET', KEYS[3], ARGV[6])
return {'ok', ARGV[6]}
