-- Ends the adoption that prepare.lua began: the clocks go on under this run, above everything that was
-- ever given.
--
-- KEYS  1 adoption, 2 node, then for each partition: clock, log
-- ARGV  1 run, 2 token, 3 gap (ms), 4 time of the caller (ms since the zero of ids), 5 which server of
--       how many this is, 6 how long markers are in doubt after a loss (ms); then for each
--       partition: position of its database, epoch, base, ms that the clock is not below, what is known of
--       it ("new": it never
--       gave an id, "same": nothing is lost, "tail": its last ids may be, "gone": SQL is ahead,
--       "kept": the server has run on, so that only the list of servers is another)
-- Gives {"again"}: it was begun anew meanwhile, or {"ok"}.
local CALLER_AHEAD_MAX = 60000
local pending = redis.call('HMGET', KEYS[1], 'run', 'token')
if id_of(pending[1]) ~= id_of(ARGV[1]) or pending[2] ~= ARGV[2] then return {'again'} end
local wall, lost = wall_ms(), nil
-- A caller whose own clock is far off does not drag this one along.
local now = math.max(wall, math.min(tonumber(ARGV[4]), wall + CALLER_AHEAD_MAX))
for k = 3, #KEYS, 2 do
    local a = 6 + (k - 3) / 2 * 5
    local epoch, base, least, known = ARGV[a + 2], ARGV[a + 3], tonumber(ARGV[a + 4]), ARGV[a + 5]
    local ms = tonumber(redis.call('HGET', KEYS[k], 'ms') or '0')
    local n = redis.call('HGET', KEYS[k], 'n') or '0'
    if known == 'tail' or known == 'gone' then
        ms, n = math.max(ms, least, now) + tonumber(ARGV[3]), '0'
        lost = math.max(lost or 0, ms)
    end
    -- Markers may be gone whose messages SQL has. The log stays: the gate passes over what SQL has of it.
    if known == 'gone' then
        redis.call('HSET', KEYS[k], 'doubt', wall + tonumber(ARGV[6]))
    end
    -- Who has another list of servers goes on, unless the server is not the same any more.
    local before = redis.call('HGET', KEYS[k], 'run')
    if before and before ~= ARGV[1] and id_of(before) == id_of(ARGV[1]) then
        redis.call('HSET', KEYS[k], 'also', before)
    else
        redis.call('HDEL', KEYS[k], 'also')
    end
    redis.call('HSET', KEYS[k], 'run', ARGV[1])
    if known ~= 'kept' then
        redis.call('HSET', KEYS[k], 'epoch', epoch, 'base', base, 'ms', ms, 'n', n, 'db', ARGV[a + 1])
    end
end
-- Changes that were told of may be lost, too; their numbers go ahead as the clocks do.
if lost then next_version(lost * VERSION_STEP) end
-- Elsewhere numbers may be known that will come again: it is another life.
if lost or redis.call('EXISTS', LIFE) == 0 then redis.call('SET', LIFE, tonumber(string.sub(ARGV[2], 1, 8), 16)) end
redis.call('SET', KEYS[2], ARGV[5])
redis.call('DEL', KEYS[1])
return {'ok'}
