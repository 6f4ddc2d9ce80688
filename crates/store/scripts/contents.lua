-- Reads the index of a user's conversations: those in which something was said last, newest first.
--
-- KEYS  1 index, 2 other changes, 3 a clock of their server
-- ARGV  1 run, 2 life (s), 3 number up to which to read ("(+inf": from the newest), 4 conversations (-1: all)
-- Gives {"verify"}; {"incomplete"}: it does not hold all of them; or {"ok", number of those that are looked
--       up, they, then conversation and number of each other one}.
if not clock_of(KEYS[3], ARGV[1]) then return {'verify'} end
local mark = '#' .. ARGV[1]
if not redis.call('ZSCORE', KEYS[1], mark) then return {'incomplete'} end
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
local looked_up = redis.call('ZRANGEBYSCORE', KEYS[1], '+inf', '+inf')
local out = {'ok', #looked_up}
for _, name in ipairs(looked_up) do out[#out + 1] = name end
-- Marks stand among the conversations; there are never more than two.
local count = tonumber(ARGV[4])
if count >= 0 then count = count + 2 end
local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], ARGV[3], '-inf', 'WITHSCORES', 'LIMIT', 0, count)
for i = 1, #found, 2 do
    if string.sub(found[i], 1, 1) ~= '#' then
        out[#out + 1] = found[i]
        out[#out + 1] = found[i + 1]
    end
end
return out
