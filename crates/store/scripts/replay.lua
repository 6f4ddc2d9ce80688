-- Puts dead letters back at the end of the log, under new stamps.
--
-- KEYS  1 clock, 2 log, 3 dead letters
-- ARGV  1 run, 2 partition, then the letters' ids
-- Gives {"verify"} or {"ok", letters put back}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local count = 0
for a = 3, #ARGV do
    local letter = redis.call('XRANGE', KEYS[3], ARGV[a], ARGV[a])[1]
    local value
    for i = 1, letter and #letter[2] or 0, 2 do
        if letter[2][i] == 'v' then value = within(letter[2][i + 1]) end
    end
    if value then
        local ms, low = tick(clock, tonumber(ARGV[2]))
        redis.call('XADD', KEYS[2], '*', 'v', string.format('r\n%d\n%d\n', ms, low) .. value)
        redis.call('XDEL', KEYS[3], ARGV[a])
        local tenant = tenant_of(value)
        if tenant then count_waiting(KEYS[1], tenant, 1) end
        count = count + 1
    end
end
if count > 0 then save(clock) end
return {'ok', count}
