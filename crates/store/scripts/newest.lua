-- Finds the newest messages that count for users: of others, not silent, not taken back, not hidden by
-- them, no control messages.
--
-- KEYS  for each user in a conversation: clock, head, messages
-- ARGV  1 run, 2 messages wanted, 3 messages looked at, then for each: user, stamp that they are above
-- Gives {"verify"}; or {"ok", then for each: stamp below which SQL may have more ("" no more are needed),
--       messages found, their stamps, newest first}.
local PER_ITEM, FIXED = 3, 3

local function counts_for(user, entry, revisions, is_hidden)
    local sender = counted_sender(entry, revisions)
    return sender and sender ~= user and not (is_hidden and is_hidden(entry[1]))
end

local wanted, out = tonumber(ARGV[2]), {'ok'}
for i = 1, #KEYS / PER_ITEM do
    local k, a = (i - 1) * PER_ITEM, FIXED + (i - 1) * 2
    local clock = clock_of(KEYS[k + 1], ARGV[1])
    if not clock then return {'verify'} end
    local head = redis.call('HMGET', KEYS[k + 2], 'base', 'last', 'hot', 'front')
    local found, below = {}, '+'
    if head[1] == clock.base then
        below = hot_from(head[3], head[4], head[2], KEYS[k + 3])
        local revisions, is_hidden = revised(KEYS[k + 3]), hidden_from(ARGV[a + 1], KEYS[k + 3])
        local entries = redis.call('XREVRANGE', KEYS[k + 3], '+', '(' .. ARGV[a + 2], 'COUNT', ARGV[3])
        for _, entry in ipairs(entries) do
            if #found < wanted and counts_for(ARGV[a + 1], entry, revisions, is_hidden) then found[#found + 1] = entry[1] end
        end
        local is_enough = #found == wanted or #entries == tonumber(ARGV[3]) or later(ARGV[a + 2], below) == ARGV[a + 2]
        if is_enough then below = '' end
    end
    out[#out + 1] = below
    out[#out + 1] = #found
    for _, id in ipairs(found) do out[#out + 1] = id end
end
return out
