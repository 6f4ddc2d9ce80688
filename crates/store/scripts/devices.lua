-- Reads what is known of a user's devices and settings.
--
-- KEYS  1 clock, 2 user's state
-- ARGV  1 run
-- Gives {"verify"}; or {"ok", whether a push may show what was said ("" not known here), then for each
--       device: name, when it last synced (ms since 1970, 0: it was forgotten)}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
if redis.call('HGET', KEYS[2], 'base') ~= clock.base then return {'ok', ''} end
local out = {'ok', redis.call('HGET', KEYS[2], 'show') or ''}
local fields = redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == 'd:' then
        out[#out + 1] = string.sub(fields[i], 3)
        out[#out + 1] = string.match(fields[i + 1], '^%d+')
    end
end
return out
