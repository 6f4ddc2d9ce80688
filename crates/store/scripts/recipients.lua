-- Reads who is to be told of messages: the members of hot conversations who have not muted them.
--
-- KEYS  1 clock; for each conversation: head, members, own, messages
-- ARGV  1 run, 2 members, about, of one conversation and of the whole reply, 3 members of a conversation that
--       is read at all max (0: any number), 4 messages after the last that are looked at; then for each conversation
--       the cursor from which on to read ("0": the start), and the stamps of the first and the last message
-- Gives {"verify"}; or {"ok", then for each conversation: "cold"; "many": it has too many; "later": the reply was
--       full before; or the cursor to go on from ("0": that was all), how many of the messages were taken back, their
--       stamps, how many members follow, and for each: user, countable messages sent since joining, up to the last}.
local PER_CONVERSATION, PER_ITEM, FIXED = 4, 3, 4
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local most, many, told, out = tonumber(ARGV[2]), tonumber(ARGV[3]), 0, {'ok'}

-- Adds which messages from one to another were taken back.
local function add_gone(messages, first, last)
    local at, revisions = #out + 1, revised(messages)
    out[at] = 0
    for _, id in ipairs(revisions and redis.call('HKEYS', revisions) or {}) do
        if later(id, first) == id and later(last, id) == last then
            out[#out + 1] = id
            out[at] = out[at] + 1
        end
    end
end

-- How many countable messages each user has sent after one.
local function sent_after(messages, last)
    local sent, revisions = {}, revised(messages)
    for _, entry in ipairs(redis.call('XRANGE', messages, '(' .. last, '+', 'COUNT', ARGV[4])) do
        local sender = counted_sender(entry, revisions)
        if sender then sent[sender] = (sent[sender] or 0) + 1 end
    end
    return sent
end

local function read(members, own, messages, cursor, first, last)
    local found = redis.call('HSCAN', members, cursor, 'COUNT', most)
    local users = {}
    for i = 1, #found[2], 2 do
        local muted = string.match(found[2][i + 1], '^%d+ %d+ %d+ %d+ %d+ %d+ %d+ (%d+)')
        if muted == '0' then users[#users + 1] = found[2][i] end
    end
    out[#out + 1] = found[1]
    add_gone(messages, first, last)
    out[#out + 1] = #users
    local since = sent_after(messages, last)
    for _, user in ipairs(users) do
        out[#out + 1] = user
        out[#out + 1] = math.max(0, tonumber(redis.call('HGET', own, user) or '0') - (since[user] or 0))
    end
    return #found[2] / 2
end

for i = 1, (#KEYS - 1) / PER_CONVERSATION do
    local k, a = 1 + (i - 1) * PER_CONVERSATION, FIXED + (i - 1) * PER_ITEM
    if told >= most then
        out[#out + 1] = 'later'
    elseif redis.call('HGET', KEYS[k + 1], 'base') ~= clock.base then
        out[#out + 1] = 'cold'
    elseif many > 0 and redis.call('HLEN', KEYS[k + 2]) > many then
        out[#out + 1] = 'many'
    else
        told = told + read(KEYS[k + 2], KEYS[k + 3], KEYS[k + 4], ARGV[a + 1], ARGV[a + 2], ARGV[a + 3])
    end
end
return out
