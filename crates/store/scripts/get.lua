-- Reads messages of a hot conversation by id.
--
-- KEYS  1 clock, 2 head, 3 members, 4 messages
-- ARGV  1 run, 2 user, 3 times (see expired_of), then the stamps
-- Gives what page.lua gives; messages that are not in the stream, and those that the user has hidden, are left out.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[2], 'base', 'cid', 'history', 'seq', 'last', 'hot', 'front', 'kind', 'keep',
    'hold')
if head[1] ~= clock.base then return {'cold'} end
local member = redis.call('HGET', KEYS[3], ARGV[2])
if not member then return {'stranger'} end
local floor = floor_of(head[3], member, expired_of(ARGV[3], head[8], head[9], head[10]))
local out = {'ok', clock.epoch, head[2], floor, head[4], head[5], hot_from(head[6], head[7], head[5], KEYS[4]), ''}
local revisions, is_hidden = revised(KEYS[4]), hidden_from(ARGV[2], KEYS[4])
for i = 4, #ARGV do
    local entry = redis.call('XRANGE', KEYS[4], ARGV[i], ARGV[i])[1]
    if entry and not (is_hidden and is_hidden(ARGV[i])) then take(out, KEYS[4], entry, revisions, is_hidden) end
end
return out
