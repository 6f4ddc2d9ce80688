-- Notes that a device has synced: whatever waits for a push of its user waits no more.
--
-- KEYS  1 clock, 2 log, 3 user's state, 4 waiting, 5 due queue
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/user", 5 device, 6 "partition/user", 7 how
--       precisely the time of a device is kept (ms), 8 the same in SQL (ms), 9 devices max, 10 life (s)
-- Gives {"verify"}; or {"ok", the device that is one too many ("" none): the one that was seen longest ago}.
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

local most = tonumber(ARGV[9])
local function one_too_many()
    if redis.call('HLEN', KEYS[3]) <= most then return '' end
    local devices, oldest, oldest_device, forgotten = 0, nil, nil, {}
    local fields = redis.call('HGETALL', KEYS[3])
    for i = 1, #fields, 2 do
        local device = string.match(fields[i], '^d:(.*)$')
        local at = device and tonumber(string.match(fields[i + 1], '^%d+'))
        if at == 0 then
            forgotten[#forgotten + 1] = fields[i]
        elseif at then
            devices = devices + 1
            if not oldest or at < oldest then oldest, oldest_device = at, device end
        end
    end
    -- SQL has forgotten these long since.
    if #forgotten > most then redis.call('HDEL', KEYS[3], unpack(forgotten)) end
    return devices > most and oldest_device or ''
end

local seen, noted = string.match(found[2] or '0 0', '^(%d+) (%d+)$')
seen, noted = tonumber(seen), tonumber(noted)
if not is_old(seen, tonumber(ARGV[7])) then return {'ok', ''} end
-- With a full log SQL is told another time.
if is_old(noted, tonumber(ARGV[8])) and redis.call('XLEN', KEYS[2]) < tonumber(ARGV[3]) then
    local ms, low = tick(clock, tonumber(ARGV[2]))
    redis.call('XADD', KEYS[2], '*', 'v', string.format('d\n%d\n%d\n%s\n%s\n%d\n', ms, low, ARGV[4], ARGV[5], now))
    save(clock)
    noted = now
end
redis.call('HSET', KEYS[3], field, string.format('%d %d', now, noted))
redis.call('EXPIRE', KEYS[3], ARGV[10])
return {'ok', one_too_many()}
