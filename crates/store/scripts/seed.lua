-- Makes a conversation hot as SQL has it, unless it is hot already.
--
-- KEYS  1 clock, 2 head, 3 members, 4 messages, 5 own, 6 positions
-- ARGV  1 run, 2 epoch under which SQL was asked, 3 life (s), 4 members: lines "user own value",
--       5 whether something was revised (0|1), 6 messages that were taken back: lines "countable stamp", 7 those that
--       users have hidden and that would be unread or are the last one: lines "user stamp class", 8 users who have
--       hidden something, members or not: a line each; then the head's fields and values
-- Gives {"verify"} or {"ok"}.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock or clock.epoch ~= ARGV[2] then return {'verify'} end
if redis.call('HGET', KEYS[2], 'base') == clock.base then return {'ok'} end
local recalled, hidden = recalled_of(KEYS[4]), hidden_of(KEYS[4])
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], unpack(beside(KEYS[4])))
-- When it changed last is known, but not by which number: it is as if all had just changed.
local version = next_version()
for user, own, value in string.gmatch(ARGV[4], '([^ \n]+) (%d+) ([^\n]+)\n') do
    redis.call('HSET', KEYS[3], user, value .. ' ' .. version .. ' ' .. version)
    if own ~= '0' then redis.call('HSET', KEYS[5], user, own) end
end
redis.call('HSET', KEYS[2], 'base', clock.base, 'version', version, 'membership_version', version)
if ARGV[5] == '1' then redis.call('HSET', KEYS[2], 'revision_version', version) end
for count, id in string.gmatch(ARGV[6], '(%d+) (%S+)\n') do redis.call('ZADD', recalled, count, id) end
for user, id, class in string.gmatch(ARGV[7], '(%S+) (%S+) (%S+)\n') do
    redis.call('ZADD', hidden, 0, hidden_name(user, class, id))
end
-- Who joins again may have devices which show what was hidden.
for user in string.gmatch(ARGV[8], '([^\n]+)\n') do redis.call('HSET', KEYS[2], 'hidden/' .. user, version) end
for a = 9, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[a], ARGV[a + 1]) end
-- The head goes first: without it the rest is never read.
redis.call('EXPIRE', KEYS[2], ARGV[3])
for key = 3, 6 do redis.call('EXPIRE', KEYS[key], tonumber(ARGV[3]) + 60) end
redis.call('EXPIRE', recalled, tonumber(ARGV[3]) + 60)
redis.call('EXPIRE', hidden, tonumber(ARGV[3]) + 60)
return {'ok'}
