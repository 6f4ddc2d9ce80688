-- Lets go of what is hot of a conversation, if SQL has all of it: what was erased there is nowhere here then.
--
-- KEYS  1 clock, 2 head, 3 members, 4 messages, 5 own, 6 positions, then idempotency markers
-- ARGV  1 run, 2 stamp up to which SQL has the partition's log
-- Gives {"verify"}, {"busy"}: SQL has not all of it, or {"ok"}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[2], 'base', 'logged')
if head[1] == clock.base and later(head[2], ARGV[2]) == head[2] and head[2] ~= ARGV[2] then return {'busy'} end
-- The head goes first: without it the rest is never read.
for key = 2, #KEYS do redis.call('DEL', KEYS[key]) end
redis.call('DEL', unpack(beside(KEYS[4])))
return {'ok'}
