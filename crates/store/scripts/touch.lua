-- Notes that a device has synced: whatever waits for a push of its user waits no more.
--
-- KEYS  1 clock, 2 log, 3 user's state, 4 waiting, 5 due queue
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/user", 5 device, 6 "partition/user", 7 how
--       precisely the time of a device is kept (ms), 8 the same in SQL (ms), 9 devices max, 10 life (s)
-- Gives {"verify"} or {"ok"}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local now, field = wall_ms() + TIME_ZERO, 'd:' .. ARGV[5]
local found = redis.call('HMGET', KEYS[3], 'base', field)
if found[1] ~= clock.base then
    redis.call('DEL', KEYS[3])
    redis.call('HSET', KEYS[3], 'base', clock.base)
    found[2] = false
end
redis.call('HSET', KEYS[3], 'seen', now)
if redis.call('DEL', KEYS[4]) == 1 then redis.call('ZREM', KEYS[5], ARGV[6]) end

local function is_old(time, step)
    return now - time >= step or now < time
end

-- The one that was seen longest ago, of those that were forgotten the first; SQL keeps its own count.
local function make_room()
    local devices, oldest, oldest_field = 0, nil, nil
    local fields = redis.call('HGETALL', KEYS[3])
    for i = 1, #fields, 2 do
        if string.sub(fields[i], 1, 2) == 'd:' then
            devices = devices + 1
            local at = tonumber(string.match(fields[i + 1], '^%d+'))
            if fields[i] ~= field and (not oldest or at < oldest) then oldest, oldest_field = at, fields[i] end
        end
    end
    if devices > tonumber(ARGV[9]) then redis.call('HDEL', KEYS[3], oldest_field) end
end

local seen, noted = string.match(found[2] or '0 0', '^(%d+) (%d+)$')
seen, noted = tonumber(seen), tonumber(noted)
if not is_old(seen, tonumber(ARGV[7])) then return {'ok'} end
-- With a full log SQL is told another time.
if is_old(noted, tonumber(ARGV[8])) and redis.call('XLEN', KEYS[2]) < tonumber(ARGV[3]) then
    local ms, low = tick(clock, tonumber(ARGV[2]))
    redis.call('XADD', KEYS[2], '*', 'v', string.format('d\n%d\n%d\n%s\n%s\n%d\n', ms, low, ARGV[4], ARGV[5], now))
    save(clock)
    noted = now
end
redis.call('HSET', KEYS[3], field, string.format('%d %d', now, noted))
if not found[2] then make_room() end
redis.call('EXPIRE', KEYS[3], ARGV[10])
return {'ok'}
