-- Tells up to which stamp a server gives none any more, and has none in its logs: SQL has all there is of its
-- partitions up to there, but for dead letters. The clocks go above it, so that this holds whatever the server's own
-- clock does.
--
-- KEYS  for each partition: clock, log
-- ARGV  1 run, 2 ms that another server has given ids up to (0: none)
-- Gives {"verify"}; or {"ok", ms, low, then the number (1..) of each partition in whose log a revision waits, or a change of
--       a retention}.
local AHEAD_MAX_MS, LOW_MAX, LOOK = 3600000, 4194303, 20

-- The first stamp of a log; 0, 0: there is none to be read, and what is there goes soon.
local function first_of(log)
    for _, count in ipairs({ 1, LOOK }) do
        local entries = redis.call('XRANGE', log, '-', '+', 'COUNT', count)
        if #entries == 0 then return nil end
        for _, entry in ipairs(entries) do
            local ms, low = string.match(entry[2][1] == 'v' and entry[2][2] or '', '^%a\n(%d+)\n(%d+)\n')
            if ms then return tonumber(ms), tonumber(low) end
        end
    end
    return 0, 0
end

local wall = wall_ms()
local top, clocks, waiting, first_ms, first_low = math.max(wall, tonumber(ARGV[2])), {}, {}, nil, nil
for k = 1, #KEYS, 2 do
    local clock = clock_of(KEYS[k], ARGV[1])
    if not clock then return {'verify'} end
    clocks[#clocks + 1] = clock
    top = math.max(top, clock.ms)
    local ms, low = first_of(KEYS[k + 1])
    if ms then
        if not first_ms or is_after(first_ms, first_low, ms, low) then first_ms, first_low = ms, low end
        local revised = redis.call('HGET', KEYS[k], 'revised')
        if revised and not is_after(ms, low, split(revised)) then waiting[#waiting + 1] = #clocks end
    end
end

-- Clocks may be ahead of the server's. All go as far as the furthest of them, so that what it gave is told of at once;
-- but none is dragged along by one that is far off: what that gives is told of when its time has come.
local ms, low = math.min(top, wall + AHEAD_MAX_MS), LOW_MAX
if first_ms and not is_after(first_ms, first_low, ms, low) then
    ms, low = first_ms, first_low - 1
    if low < 0 then ms, low = math.max(0, ms - 1), ms > 0 and LOW_MAX or 0 end
end
for _, clock in ipairs(clocks) do
    if clock.ms < ms or (clock.ms == ms and clock.n < COUNTER_MAX) then
        write_though_full(clock.key)
        clock.ms, clock.n = ms, COUNTER_MAX
        save(clock)
    end
end
local out = { 'ok', ms, low }
for _, number in ipairs(waiting) do out[#out + 1] = number end
return out
