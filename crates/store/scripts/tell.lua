-- Notes in indexes of this server what has happened in a conversation of another one.
--
-- KEYS  1 what was told of the conversation: kind of change → number
-- ARGV  1 life (s) of an index, 2 "tenant/conversation", 3 the life in which the other server numbered the change,
--       4 the number, 5 the one by which the conversation stands in lists (0: as new); then op and user (see
--       note()) in turn
-- Gives {"ok"}. What comes late changes nothing.
local TOLD_LIFE_S = 86400
-- Of each kind of change the latest counts: of what was said, and for each user of
-- whether all are told, of the membership, of anything else.
local function field_of(op, user)
    if op == 's' then return 'said' end
    if op == 'n' or op == 'w' then return 'width/' .. user end
    if op == 'o' then return 'other/' .. user end
    return 'member/' .. user
end

local given, version = tonumber(ARGV[4]), nil
-- What was told with numbers that can come again says nothing.
if redis.call('HGET', KEYS[1], 'life') ~= ARGV[3] then
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], 'life', ARGV[3])
end
local tenant, conversation = string.match(ARGV[2], '^([^/]+)/(.+)$')
local fields = {}
local said_at = ARGV[5] ~= '0' and ARGV[5] or nil
for a = 6, #ARGV, 2 do
    local field = field_of(ARGV[a], ARGV[a + 1])
    local told = fields[field] or tonumber(redis.call('HGET', KEYS[1], field) or '0')
    if told < given then
        version = version or next_version(given)
        local owner = tenant .. '/' .. ARGV[a + 1]
        note(ARGV[a], owner, partition_of_user(owner), conversation, version, ARGV[1], said_at)
    end
    fields[field] = told
end
for field, told in pairs(fields) do
    if told < given then redis.call('HSET', KEYS[1], field, ARGV[4]) end
end
redis.call('EXPIRE', KEYS[1], TOLD_LIFE_S)
return {'ok'}
