-- Adds conversations to a user's index, and makes it complete, unless it is.
--
-- KEYS  1 index, 2 other changes
-- ARGV  1 life (s), 2 run, 3 whether it is complete then (0|1), then for each conversation: its name, a number by
--       which it stands among the others ("+inf": it is looked up)
-- Gives {"ok"}.
local mark = '#' .. ARGV[2]
-- Of an index that another call has made complete meanwhile devices may know; from then on it is kept.
if redis.call('ZSCORE', KEYS[1], mark) then return {'ok'} end
local since = next_version()
for a = 4, #ARGV, 2 do
    local before = redis.call('ZSCORE', KEYS[1], ARGV[a])
    if ARGV[a + 1] == LOOKED_UP then
        redis.call('ZADD', KEYS[1], LOOKED_UP, ARGV[a])
    elseif not before or tonumber(before) < tonumber(ARGV[a + 1]) then
        redis.call('ZADD', KEYS[1], free_number(KEYS[1], KEYS[2], ARGV[a + 1], since), ARGV[a])
    end
end
if ARGV[3] == '1' then
    -- Of other lists of servers in use the latest is kept, and none of an earlier run.
    local other
    for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(+inf')) do
        if string.sub(name, 1, 1) == '#' then
            if other then redis.call('ZREM', KEYS[1], other) end
            other = name
        end
    end
    if other and id_of(other) ~= id_of(mark) then redis.call('ZREM', KEYS[1], other) end
    redis.call('ZADD', KEYS[1], since, mark)
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[1])
return {'ok'}
