-- Lets go of messages that were kept by defer.lua and have been told; those that came meanwhile stay.
--
-- KEYS  1 clock, 2 messages kept, 3 queue
-- ARGV  1 run, 2 partition, 3 "tenant/conversation", 4 ms and 5 low of the last that was told, 6 how long the
--       conversation is let be (ms)
-- Gives {"verify"} or {"ok"}.
if not clock_of(KEYS[1], ARGV[1]) then return {'verify'} end
local kept = redis.call('HGET', KEYS[2], ARGV[3])
if not kept then return {'ok'} end
local cid, messages = string.match(kept, '^([^\n]+)\n(.*)$')
local left = ''
for line, ms, low in string.gmatch(messages, '((%d+) (%d+) [^\n]+\n)') do
    if is_after(tonumber(ms), tonumber(low), tonumber(ARGV[4]), tonumber(ARGV[5])) then left = left .. line end
end
if left == '' then
    redis.call('HDEL', KEYS[2], ARGV[3])
else
    redis.call('HSET', KEYS[2], ARGV[3], cid .. '\n' .. left)
end
redis.call('ZADD', KEYS[3], wall_ms() + TIME_ZERO + tonumber(ARGV[6]), ARGV[2] .. '/' .. ARGV[3])
return {'ok'}
