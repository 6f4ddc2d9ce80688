-- Takes or renews the lease on a partition's log and reads its oldest entries.
--
-- KEYS  1 lease, 2 log, 3 clock
-- ARGV  1 run, 2 holder, 3 life of the lease (ms), 4 entries, 5 bytes
-- Gives {"verify"}; {"held"}: somebody else has the lease; or {"ok", position of the partition's database,
--       epoch, its clock (ms, n), then for each entry: id, value}. An entry without a field v gives an empty value.
local FIRST = 5
local clock = clock_of(KEYS[3], ARGV[1])
if not clock then return {'verify'} end
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[2] then return {'held'} end
local out, bytes = { 'ok', redis.call('HGET', KEYS[3], 'db'), clock.epoch, clock.ms, clock.n }, 0
for _, entry in ipairs(redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', ARGV[4])) do
    local value = entry[2][1] == 'v' and entry[2][2] or ''
    bytes = bytes + #value
    if bytes > tonumber(ARGV[5]) and #out > FIRST then break end
    out[#out + 1] = entry[1]
    out[#out + 1] = value
end
if #out > FIRST then
    write_though_full(KEYS[2])
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
elseif holder then
    redis.call('DEL', KEYS[1])
end
return out
