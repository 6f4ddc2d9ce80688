-- Reads the index of a user's conversations.
--
-- KEYS  1 index, 2 a clock of its server
-- ARGV  1 run, 2 life (s)
-- Gives {"verify"}; {"incomplete"}: it does not hold all of them, or {"ok", then "tenant/conversation" each}.
if not clock_of(KEYS[2], ARGV[1]) then return {'verify'} end
local mark = '#' .. ARGV[1]
if redis.call('SISMEMBER', KEYS[1], mark) == 0 then return {'incomplete'} end
redis.call('EXPIRE', KEYS[1], ARGV[2])
local out = {'ok'}
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1])) do
    if string.sub(name, 1, 1) ~= '#' then out[#out + 1] = name end
end
return out
