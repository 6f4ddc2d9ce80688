-- Reads what waits for SQL in a server's partitions.
--
-- KEYS  for each partition: log, dead letters, waiting
-- ARGV  1 tenant ("" none), then the partitions
-- Gives {time (ms since 1970), then for each partition that has a backlog or dead letters: partition,
--       entries, id of the oldest ("" none), dead letters, messages of the tenant that wait}.
local time = redis.call('TIME')
local out = { string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000)) }
for i = 1, #ARGV - 1 do
    local log, dead = KEYS[i * 3 - 2], KEYS[i * 3 - 1]
    local entries, letters = redis.call('XLEN', log), redis.call('XLEN', dead)
    if entries > 0 or letters > 0 then
        local first = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
        out[#out + 1] = ARGV[i + 1]
        out[#out + 1] = entries
        out[#out + 1] = first and first[1] or ''
        out[#out + 1] = letters
        out[#out + 1] = redis.call('HGET', KEYS[i * 3], ARGV[1]) or 0
    end
end
return out
