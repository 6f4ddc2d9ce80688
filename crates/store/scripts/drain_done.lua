-- Lets go of entries that SQL has, and trims what is hot down to what may be trimmed.
--
-- KEYS  1 lease, 2 log, 3 clock; for each conversation: head, members, messages, own, positions; then the
--       markers of repeated messages
-- ARGV  1 run, 2 holder, 3 messages kept hot, 4 life of an idle conversation (s), 5 life of a
--       marker (s), 6 entries, 7 conversations; for each entry: id, tenant of a message ("" of other
--       entries); for each conversation: stamp up to which SQL has its messages ("0-0": nothing new),
--       stamp of its last entry that SQL has; for each repeated message: conversation (1..), its
--       stamp, its marker's value
-- Gives {"verify"} or {"ok", entries left in the log}.
local PER_CONVERSATION, FIXED = 5, 7
local clock = clock_of(KEYS[3], ARGV[1])
if not clock then return {'verify'} end
local keep, life, entries, conversations = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6]), tonumber(ARGV[7])
write_though_full(KEYS[2])
local gone = {}
for i = 1, entries do
    local a = FIXED + (i - 1) * 2
    -- Another drainer may have let go of it.
    if redis.call('XDEL', KEYS[2], ARGV[a + 1]) == 1 and ARGV[a + 2] ~= '' then
        gone[ARGV[a + 2]] = (gone[ARGV[a + 2]] or 0) + 1
    end
end
for tenant, count in pairs(gone) do count_waiting(KEYS[3], tenant, -count) end

-- What was trimmed from outside has to be known before anything is taken out here.
local hot = {}
for c = 1, conversations do
    local k = 3 + (c - 1) * PER_CONVERSATION
    local head = redis.call('HMGET', KEYS[k + 1], 'base', 'hot', 'front', 'last')
    if head[1] == clock.base then hot[c] = hot_from(head[2], head[3], head[4], KEYS[k + 3]) end
end

local markers = 3 + conversations * PER_CONVERSATION
for i = 1, #KEYS - markers do
    local a = FIXED + (entries + conversations) * 2 + (i - 1) * 3
    redis.call('XDEL', KEYS[3 + (tonumber(ARGV[a + 1]) - 1) * PER_CONVERSATION + 3], ARGV[a + 2])
    redis.call('SET', KEYS[markers + i], ARGV[a + 3], 'EX', ARGV[5])
end

-- Gives whether something was trimmed. What is not in SQL yet stays, however many they are.
local TRIM_MAX = 2000
local function trim(messages, kept, entry, hidden)
    -- Nor does what was hidden, and is so in SQL only later.
    if hidden and later(hidden, entry) == hidden and hidden ~= entry then return false end
    -- What was revised, and is so in SQL only later, stays where it is seen what it has become.
    if revised_after(revised(messages), entry) then return false end
    local spare = redis.call('XLEN', messages) - keep
    if spare <= 0 then return false end
    local may_go = #redis.call('XRANGE', messages, '-', kept, 'COUNT', math.min(spare, TRIM_MAX))
    return may_go > 0 and redis.call('XTRIM', messages, 'MAXLEN', spare + keep - may_go) > 0
end

-- Lets go of what users have hidden that is neither hot any more nor unread: SQL has it. Looks at some at a time.
local HIDDEN_LOOK = 200
local function forget_hidden(head, members, messages, front)
    local hidden = hidden_of(messages)
    if redis.call('EXISTS', hidden) == 0 then return end
    local found = redis.call('HMGET', head, 'hidden_cursor', 'shown')
    local names = redis.call('ZRANGEBYLEX', hidden, found[1] or '-', '+', 'LIMIT', 0, HIDDEN_LOOK)
    for _, name in ipairs(names) do
        local user, class, ms, low = string.match(name, '^(.*)/(%l)/(%d+)-(%d+)$')
        local id = stamp_of(tonumber(ms), tonumber(low))
        local is_hot = front ~= '' and later(id, front) == id
        local read_ms, read_low = string.match(redis.call('HGET', members, user) or '', '^%d+ %d+ %d+ (%d+) (%d+)')
        local is_read = class == 's' or not read_ms or later(read_ms .. '-' .. read_low, id) ~= id
        if not is_hot and is_read and id ~= found[2] then redis.call('ZREM', hidden, name) end
    end
    redis.call('HSET', head, 'hidden_cursor', #names == HIDDEN_LOOK and '(' .. names[#names] or '-')
end

for c = 1, conversations do
    local k = 3 + (c - 1) * PER_CONVERSATION
    local a = FIXED + (entries + c - 1) * 2
    local head = redis.call('HMGET', KEYS[k + 1], 'base', 'kept', 'logged', 'hidden_logged')
    local may_go = head[1] and head[1] ~= clock.base -- from before a loss, and never read again
    if head[1] == clock.base then
        local kept = later(head[2], ARGV[a + 1])
        local trimmed = trim(KEYS[k + 3], kept, ARGV[a + 2], head[4])
        local first = redis.call('XRANGE', KEYS[k + 3], '-', '+', 'COUNT', 1)[1]
        local front = first and first[1] or ''
        if trimmed then
            forget_revisions(KEYS[k + 3], front)
            forget_hidden(KEYS[k + 1], KEYS[k + 2], KEYS[k + 3], front)
        end
        redis.call('HSET', KEYS[k + 1], 'kept', kept, 'hot', trimmed and front or hot[c], 'front', front)
        may_go = head[3] == ARGV[a + 2] -- SQL has all of it
    end
    if may_go then
        -- When it stays idle. The head goes first: without it the rest is never read.
        redis.call('EXPIRE', KEYS[k + 1], life)
        for key = k + 2, k + PER_CONVERSATION do redis.call('EXPIRE', KEYS[key], life + 60) end
        for _, key in ipairs(beside(KEYS[k + 3])) do redis.call('EXPIRE', key, life + 60) end
    end
end

local left = redis.call('XLEN', KEYS[2])
if redis.call('GET', KEYS[1]) == ARGV[2] then redis.call('DEL', KEYS[1]) end
return {'ok', left}
