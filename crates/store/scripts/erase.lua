-- Adds to a log that messages of a user are to be erased, and perhaps all that is kept of the user in their
-- conversation.
--
-- KEYS  1 clock, 2 log
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 cid, 6 user, 7 who erases, 8 whether the
--       user leaves (0|1), 9 the messages: lines of a stamp each
-- Gives {"verify"}, {"backlog"} or {"ok"}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
local ms, low = tick(clock, tonumber(ARGV[2]))
redis.call('XADD', KEYS[2], '*', 'v', string.format('z\n%d\n%d\n%s\n%s\n%s\n%s\n%s\n', ms, low, ARGV[4], ARGV[5],
    ARGV[6], ARGV[7], ARGV[8]) .. ARGV[9])
save(clock)
return {'ok'}
