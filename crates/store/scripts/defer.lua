-- Keeps messages whose recipients are too many to be told of them by the drain.
--
-- KEYS  1 clock, 2 messages kept, 3 queue
-- ARGV  1 run, 2 partition, 3 bytes of one conversation max, then for each conversation: "tenant/conversation", cid,
--       its messages as wake.lua takes them
-- Gives {"verify"} or {"ok"}.
local PER_CONVERSATION, FIXED = 3, 3
if not clock_of(KEYS[1], ARGV[1]) then return {'verify'} end

-- Where the last line of a text begins. Found from its end: a pattern would try every place before it.
local function last_line(text)
    local at = #text
    while at > 1 and string.byte(text, at - 1) ~= 10 do at = at - 1 end
    return at
end

local now, most = wall_ms() + TIME_ZERO, tonumber(ARGV[3])
for a = FIXED + 1, #ARGV, PER_CONVERSATION do
    local kept = redis.call('HGET', KEYS[2], ARGV[a]) or ARGV[a + 1] .. '\n'
    local last_ms, last_low = string.match(kept, '^(%d+) (%d+) %d+ ', last_line(kept))
    last_ms, last_low = tonumber(last_ms or 0), tonumber(last_low or 0)
    for line, ms, low in string.gmatch(ARGV[a + 2], '((%d+) (%d+) [^\n]+\n)') do
        if is_after(tonumber(ms), tonumber(low), last_ms, last_low) then
            -- Of very many the last is kept up to date: whoever has seen the others is told of it.
            if #kept + #line > most then kept = string.sub(kept, 1, last_line(kept) - 1) end
            kept = kept .. line
        end
    end
    redis.call('HSET', KEYS[2], ARGV[a], kept)
    redis.call('ZADD', KEYS[3], 'NX', now, ARGV[2] .. '/' .. ARGV[a])
end
return {'ok'}
