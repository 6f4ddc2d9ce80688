-- Reads who is to be told of messages: the members of hot conversations who have not muted them.
--
-- KEYS  1 clock; for each conversation: head, members, own
-- ARGV  1 run, 2 members, about, of one conversation and of the whole reply, 3 members of a conversation that
--       is read at all max (0: any number); then for each conversation the cursor from which on to read ("0":
--       the start)
-- Gives {"verify"}; or {"ok", then for each conversation: "cold"; "many": it has too many; "later": the reply was
--       full before; or the cursor to go on from ("0": that was all), how many members follow, and for each:
--       user, countable messages sent since joining}.
local PER_CONVERSATION, FIXED = 3, 3
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local most, many, told, out = tonumber(ARGV[2]), tonumber(ARGV[3]), 0, {'ok'}

local function read(members, own, cursor)
    local found = redis.call('HSCAN', members, cursor, 'COUNT', most)
    local users = {}
    for i = 1, #found[2], 2 do
        local muted = string.match(found[2][i + 1], '^%d+ %d+ %d+ %d+ %d+ %d+ %d+ (%d+)')
        if muted == '0' then users[#users + 1] = found[2][i] end
    end
    out[#out + 1] = found[1]
    out[#out + 1] = #users
    for _, user in ipairs(users) do
        out[#out + 1] = user
        out[#out + 1] = redis.call('HGET', own, user) or 0
    end
    return #found[2] / 2
end

for i = 1, (#KEYS - 1) / PER_CONVERSATION do
    local k = 1 + (i - 1) * PER_CONVERSATION
    if told >= most then
        out[#out + 1] = 'later'
    elseif redis.call('HGET', KEYS[k + 1], 'base') ~= clock.base then
        out[#out + 1] = 'cold'
    elseif many > 0 and redis.call('HLEN', KEYS[k + 2]) > many then
        out[#out + 1] = 'many'
    else
        told = told + read(KEYS[k + 2], KEYS[k + 3], ARGV[FIXED + i])
    end
end
return out
