-- Keeps messages whose recipients are too many to be told of them by the drain.
--
-- KEYS  1 clock, 2 messages kept, 3 queue
-- ARGV  1 run, 2 partition, 3 bytes of one conversation max, then for each conversation: "tenant/conversation", cid,
--       its messages as wake.lua takes them
-- Gives {"verify"} or {"ok"}.
local PER_CONVERSATION, FIXED = 3, 3
if not clock_of(KEYS[1], ARGV[1]) then return {'verify'} end
local now, most = wall_ms() + TIME_ZERO, tonumber(ARGV[3])
for a = FIXED + 1, #ARGV, PER_CONVERSATION do
    local kept = redis.call('HGET', KEYS[2], ARGV[a]) or ARGV[a + 1] .. '\n'
    local last_ms, last_low = string.match(kept, '(%d+) (%d+) %d+ [^\n]+\n$')
    last_ms, last_low = tonumber(last_ms or 0), tonumber(last_low or 0)
    for line, ms, low in string.gmatch(ARGV[a + 2], '((%d+) (%d+) [^\n]+\n)') do
        if is_after(tonumber(ms), tonumber(low), last_ms, last_low) then
            -- Of very many the last is kept up to date: whoever has seen the others is told of it.
            if #kept + #line > most then kept = string.gsub(kept, '[^\n]+\n$', '') end
            kept = kept .. line
        end
    end
    redis.call('HSET', KEYS[2], ARGV[a], kept)
    redis.call('ZADD', KEYS[3], 'NX', now, ARGV[2] .. '/' .. ARGV[a])
end
return {'ok'}
