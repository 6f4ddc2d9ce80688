-- Reads what has changed for a user, oldest change first.
--
-- KEYS  1 index, 2 other changes, 3 a clock of their server
-- ARGV  1 run, 2 life (s), 3 epoch of the cursor ("": from the start), number up to which the device knows 4 what
--       was said, 5 what else has changed, 6 changes
-- Gives {"verify"}; {"incomplete"}: the index does not hold all conversations; or {"ok", epoch, reset ("",
--       "epoch", "expired" or "ahead"), number of the last change of this server, number of conversations that
--       are looked up, they, then for each change: "s" (something was said) or "o", conversation, number}.
local clock = clock_of(KEYS[3], ARGV[1])
if not clock then return {'verify'} end
local since = redis.call('ZSCORE', KEYS[1], '#' .. ARGV[1])
if not since then return {'incomplete'} end
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
local last = redis.call('GET', CHANGES) or '0'
-- A walk from the start passes entries older than the index, so what it knows of other changes counts.
local reset, known = '', tonumber(ARGV[5])
if ARGV[3] ~= '' then
    if ARGV[3] ~= clock.epoch then
        reset = 'epoch'
    elseif known < tonumber(since) then
        reset = 'expired'
    elseif known > tonumber(last) then
        reset = 'ahead'
    end
end
local is_start = ARGV[3] == '' or reset ~= ''
local looked_up = redis.call('ZRANGEBYSCORE', KEYS[1], '+inf', '+inf')
local out = {'ok', clock.epoch, reset, last, #looked_up}
for _, name in ipairs(looked_up) do out[#out + 1] = name end
-- Marks stand among the conversations; there are never more than two.
local count = tonumber(ARGV[6]) + 2
local function add(kind, key, from)
    local found = redis.call('ZRANGEBYSCORE', key, from, '(+inf', 'WITHSCORES', 'LIMIT', 0, count)
    for i = 1, #found, 2 do
        if string.sub(found[i], 1, 1) ~= '#' then
            out[#out + 1] = kind
            out[#out + 1] = found[i]
            out[#out + 1] = found[i + 1]
        end
    end
end
if is_start then
    add('s', KEYS[1], '-inf')
else
    add('s', KEYS[1], '(' .. ARGV[4])
    add('o', KEYS[2], '(' .. ARGV[5])
end
return out
