-- Makes a device's position hot as SQL has it, unless one is hot already.
--
-- KEYS  1 clock, 2 head, 3 positions
-- ARGV  1 run, 2 user, 3 device, 4 position: "stamp seq"
-- Gives {"verify"} or {"ok"}; nothing is written when the conversation is not hot any more.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
if redis.call('HGET', KEYS[2], 'base') == clock.base then
    redis.call('HSETNX', KEYS[3], ARGV[2] .. '/' .. ARGV[3], ARGV[4])
    local left = redis.call('PTTL', KEYS[2])
    if left > 0 then redis.call('PEXPIRE', KEYS[3], left + 60000) end
end
return {'ok'}
