-- Reads who is to be told of what happens in a hot conversation.
--
-- KEYS  1 head, 2 members
-- ARGV  1 most members of which each is told
-- Gives {"ok", 1 when they are too many to be told, the server's life, numbers of its last change, of the last
--       message, of the last change of members, by which it stands in lists, and of the last revision, then the
--       members}.
local head = redis.call('HMGET', KEYS[1], 'version', 'membership_version', 'placed', 'revision_version')
local is_wide = redis.call('HLEN', KEYS[2]) > tonumber(ARGV[1])
local last_change = redis.call('GET', CHANGES) or '0'
local out = {'ok', is_wide and 1 or 0, life(), last_change, head[1] or '0', head[2] or '0', head[3] or '0',
    head[4] or '0'}
for _, user in ipairs(redis.call('HKEYS', KEYS[2])) do out[#out + 1] = user end
return out
