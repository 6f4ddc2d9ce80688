-- Adds to a log that messages of a user are to be erased from a hot conversation, and perhaps all that is kept of the
-- user in it; not of one that is held.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 user, 6 who erases, 7 whether the
--       user leaves (0|1), 8 the messages: lines of a stamp each
-- Gives {"verify"}, {"cold"}, {"held"}, {"backlog"} or {"ok"}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[3], 'base', 'cid', 'hold')
if head[1] ~= clock.base then return {'cold'} end
if head[3] == '1' then return {'held'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
local ms, low = tick(clock, tonumber(ARGV[2]))
redis.call('XADD', KEYS[2], '*', 'v', string.format('z\n%d\n%d\n%s\n%s\n%s\n%s\n%s\n', ms, low, ARGV[4], head[2],
    ARGV[5], ARGV[6], ARGV[7]) .. ARGV[8])
redis.call('HSET', KEYS[3], 'logged', stamp_of(ms, low))
save(clock)
stay_hot({ KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] })
return {'ok'}
