-- Reads where users stand in conversations.
--
-- KEYS  for each user in a conversation: clock, head, members, own, messages
-- ARGV  1 run, 2 times (see expired_of), then the users
-- Gives {"verify"}; or {"ok", then for each 13 values}: state (0 not hot, 1 hot, 2 hot under another base), position
--       of its database, cid, last, countable messages, stamp from which on all are hot, member ("" none), own, countable messages up to
--       the oldest hot message that has not expired (0 none), its stamp ("" none), places among those that count
--       of messages after the read position that were taken back, the first hundred, with commas between, in the
--       same way stamps of those that would be unread, had the user not hidden them, and the stamp up to which its
--       messages have expired.
local PER_ITEM, FIXED, RECALLED_MAX = 5, 2, 100
local out = {'ok'}
for i = 1, #KEYS / PER_ITEM do
    local k = (i - 1) * PER_ITEM
    local clock = clock_of(KEYS[k + 1], ARGV[1])
    if not clock then return {'verify'} end
    local head = redis.call('HMGET', KEYS[k + 2], 'base', 'cid', 'last', 'count', 'hot', 'front', 'kind', 'keep', 'hold')
    local is_hot = head[1] == clock.base
    out[#out + 1] = is_hot and 1 or (head[1] and 2 or 0)
    out[#out + 1] = redis.call('HGET', KEYS[k + 1], 'db')
    out[#out + 1] = head[2] or ''
    out[#out + 1] = head[3] or ''
    out[#out + 1] = head[4] or 0
    out[#out + 1] = is_hot and hot_from(head[5], head[6], head[3], KEYS[k + 5]) or ''
    local member = redis.call('HGET', KEYS[k + 3], ARGV[FIXED + i])
    out[#out + 1] = member or ''
    out[#out + 1] = redis.call('HGET', KEYS[k + 4], ARGV[FIXED + i]) or 0
    local expired = is_hot and expired_of(ARGV[2], head[7], head[8], head[9]) or '0-0'
    local oldest = expired ~= '0-0' and redis.call('XRANGE', KEYS[k + 5], '(' .. expired, '+', 'COUNT', 1)[1]
    out[#out + 1] = oldest and string.match(oldest[2][2], '^%d+\n%d+\n(%d+)') or 0
    out[#out + 1] = oldest and oldest[1] or ''
    local read, recalled = member and string.match(member, '^%d+ %d+ %d+ %d+ %d+ (%d+)'), {}
    if read then
        local found = redis.call('ZRANGEBYSCORE', recalled_of(KEYS[k + 5]), '(' .. read, '+inf', 'WITHSCORES', 'LIMIT', 0,
            RECALLED_MAX)
        for score = 2, #found, 2 do recalled[#recalled + 1] = found[score] end
    end
    out[#out + 1] = table.concat(recalled, ',')
    local hidden = {}
    if read then
        local ms, low = string.match(member, '^%d+ %d+ %d+ (%d+) (%d+)')
        local after = later(ms .. '-' .. low, expired)
        hidden = hidden_after(ARGV[FIXED + i], KEYS[k + 5], after, RECALLED_MAX)
    end
    out[#out + 1] = table.concat(hidden, ',')
    out[#out + 1] = expired
end
return out
