-- Moves entries that can never reach SQL to the dead letters.
--
-- KEYS  1 log, 2 dead letters, 3 clock
-- ARGV  1 run, then for each entry: id, error
-- Gives {"verify"} or {"ok", entries moved}.
local clock = clock_of(KEYS[3], ARGV[1])
if not clock then return {'verify'} end
write_though_full(KEYS[1])
local moved = 0
for a = 2, #ARGV, 2 do
    local entry = redis.call('XRANGE', KEYS[1], ARGV[a], ARGV[a])[1]
    if entry then
        local fields = { 'error', ARGV[a + 1], 'entry', ARGV[a] }
        for _, part in ipairs(entry[2]) do fields[#fields + 1] = part end
        redis.call('XADD', KEYS[2], '*', unpack(fields))
        redis.call('XDEL', KEYS[1], ARGV[a])
        local tenant = entry[2][1] == 'v' and tenant_of(entry[2][2])
        if tenant then count_waiting(KEYS[3], tenant, -1) end
        moved = moved + 1
    end
end
return {'ok', moved}
