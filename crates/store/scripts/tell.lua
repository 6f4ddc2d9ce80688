-- Notes in indexes of this server what has happened in a conversation of another one.
--
-- KEYS  1 what was told of the conversation
-- ARGV  1 life (s) of an index, 2 "tenant/conversation", 3 the other server's number of the change; then op and
--       user (see note()) in turn
-- Gives {"ok"}. What comes late changes nothing.
local TOLD_LIFE_S = 86400
local told = redis.call('HMGET', KEYS[1], 'said', 'width')
local said, width = tonumber(told[1] or '0'), tonumber(told[2] or '0')
local given, version = tonumber(ARGV[3]), nil
local tenant, conversation = string.match(ARGV[2], '^([^/]+)/(.+)$')
for a = 4, #ARGV, 2 do
    local op = ARGV[a]
    local is_late = op == 's' and said >= given or (op == 'n' or op == 'w') and width >= given
    if not is_late then
        version = version or next_version(given)
        local owner = tenant .. '/' .. ARGV[a + 1]
        note(op, owner, partition_of_user(owner), conversation, version, ARGV[1])
    end
    if op == 's' then redis.call('HSET', KEYS[1], 'said', string.format('%.0f', math.max(said, given))) end
    if op == 'n' or op == 'w' then redis.call('HSET', KEYS[1], 'width', string.format('%.0f', math.max(width, given))) end
end
redis.call('EXPIRE', KEYS[1], TOLD_LIFE_S)
return {'ok'}
