-- Takes out of the hot store what has expired of conversations, as far as SQL has it: what nobody may read any more
-- does not stay in memory.
--
-- KEYS  for each conversation: clock, head, messages
-- ARGV  1 run; then for each: times (see expired_of), stamp up to which SQL has the log of its partition
-- Gives {"verify"}; or {"ok", then for each conversation the stamp up to which SQL may purge it ("": it is not hot)}.
local PER_CONVERSATION, PER_ITEM, FIXED = 3, 2, 1

local function first_of(messages)
    local first = redis.call('XRANGE', messages, '-', '+', 'COUNT', 1)[1]
    return first and first[1] or ''
end

-- The first stamp after one.
local function after(stamp)
    local ms, low = split(stamp)
    if low == LOW_MAX then return stamp_of(ms + 1, 0) end
    return stamp_of(ms, low + 1)
end

-- Takes out what stands up to a stamp.
local function let_go(key, messages, head, up_to)
    local hot, from = hot_from(head[5], head[6], head[7], messages), after(up_to)
    if redis.call('XTRIM', messages, 'MINID', from) > 0 then
        redis.call('HSET', key, 'hot', later(hot, from), 'front', first_of(messages))
    end
    forget_revisions(messages, from)
    if later(head[9], up_to) == up_to then
        redis.call('HSET', key, 'shown', '0-0', 'shown_seq', 0, 'shown_status', 0, 'last_sender', '', 'last_kind', 0,
            'last_summary', '')
    end
end

local function expire(key, messages, head, times, in_sql)
    local expired = expired_of(times, head[2], head[3], head[4])
    if expired == '0-0' then return expired end
    local first = first_of(messages)
    local is_clean = first == '' or first ~= expired and later(first, expired) == first
    if not is_clean and revised_after(revised(messages), in_sql) then return '0-0' end
    local up_to = later(expired, head[8]) == expired and head[8] or expired
    let_go(key, messages, head, up_to)
    first = first_of(messages)
    is_clean = first == '' or first ~= expired and later(first, expired) == first
    return is_clean and expired or up_to
end

local out = {'ok'}
for i = 1, #KEYS / PER_CONVERSATION do
    local k, a = (i - 1) * PER_CONVERSATION, FIXED + (i - 1) * PER_ITEM
    local clock = clock_of(KEYS[k + 1], ARGV[1])
    if not clock then return {'verify'} end
    local head = redis.call('HMGET', KEYS[k + 2], 'base', 'kind', 'keep', 'hold', 'hot', 'front', 'last',
        'kept', 'shown')
    local is_hot = head[1] == clock.base
    out[#out + 1] = is_hot and expire(KEYS[k + 2], KEYS[k + 3], head, ARGV[a + 1], ARGV[a + 2]) or ''
end
return out
