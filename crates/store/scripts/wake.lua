-- Notes messages for users who may have to be woken by a push. Each message counts once for each user, however
-- often this is repeated.
--
-- KEYS  1 a clock of the server
-- ARGV  1 run, 2 life of what waits (s), 3 conversations of one user max; then for each conversation:
--       "tenant/conversation", "messages wait-ms offline-ms" (the tenant's rule), its messages: lines
--       "ms low countable sender" in their order, without those that were taken back, and who is told: lines
--       "partition own user" (own: countable messages of the user up to the last of them, without those that were
--       taken back)
-- Gives {"verify"} or {"ok"}.
--
-- What waits stands in the hash `n`: for a conversation <c> `w/<c>`, while it is leased `l/<c>`, and when it has
-- been pushed `c/<c>`, each "ms low" of the first message, how many countable messages there were before it and
-- how many of these were the user's own, and "ms low" of the last.
local PER_CONVERSATION, FIXED = 4, 3
if not clock_of(KEYS[1], ARGV[1]) then return {'verify'} end
local life, most = tonumber(ARGV[2]), tonumber(ARGV[3])
local now = wall_ms() + TIME_ZERO
-- What nobody has asked for in so long is gone by itself.
local FORGOTTEN = now - life * 1000

local bases = {}
local function base_of(partition)
    if bases[partition] == nil then
        bases[partition] = redis.call('HGET', 'im:{' .. partition .. '}:clock', 'base')
    end
    return bases[partition]
end

local function last_of(value)
    local ms, low = string.match(value, '(%d+) (%d+)$')
    return tonumber(ms), tonumber(low)
end

-- Number of the first message after a stamp that is not older than `since` (ms since 1970).
local function first_after(messages, last_ms, last_low, since)
    local low, high = 1, #messages + 1
    while low < high do
        local middle = math.floor((low + high) / 2)
        local message = messages[middle]
        if message.ms + TIME_ZERO >= since and is_after(message.ms, message.low, last_ms, last_low) then
            high = middle
        else
            low = middle + 1
        end
    end
    return low
end

-- How many of the user's own messages are not before message `first`.
local function own_from(talk, user, first)
    local numbers, count = talk.sent[user] or {}, 0
    for i = #numbers, 1, -1 do
        if numbers[i] < first then break end
        count = count + 1
    end
    return count
end

-- Keeps the conversations in which something was said last.
local function make_room(key)
    local count, ms, low, field = 0, nil, nil, nil
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
        if string.sub(all[i], 1, 2) == 'w/' then
            count = count + 1
            local last_ms, last_low = last_of(all[i + 1])
            if not ms or is_after(ms, low, last_ms, last_low) then ms, low, field = last_ms, last_low, all[i] end
        end
    end
    if count > most then redis.call('HDEL', key, field) end
end

local function note(talk, partition, own, user)
    local name = talk.tenant .. '/' .. user
    local key = user_key('n', partition, name)
    local seen = seen_of(user_key('s', partition, name), base_of(partition))
    local waiting, leased, pushed, count, oldest, lease, leased_at, pushed_at = unpack(redis.call('HMGET', key,
        'w/' .. talk.name, 'l/' .. talk.name, 'c/' .. talk.name, 'messages', 'oldest', 'lease', 'leased',
        'pushed'))
    -- More do not make it more urgent, nor is it told how many these are.
    if waiting and tonumber(count) >= talk.rule[1] then return end
    -- A lease is on everything that was said in its conversations before it began.
    local since = seen
    if leased then since = math.max(since, tonumber(leased_at)) end
    if pushed then since = math.max(since, tonumber(pushed_at)) end
    local last_ms, last_low = 0, 0
    for _, known in ipairs({ waiting or '0 0', leased or '0 0', pushed or '0 0' }) do
        local ms, low = last_of(known)
        if is_after(ms, low, last_ms, last_low) then last_ms, last_low = ms, low end
    end

    local messages = talk.messages
    local first = first_after(messages, last_ms, last_low, since)
    local added = #messages - first + 1 - own_from(talk, user, first)
    if added <= 0 then return end
    while messages[first].sender == user do first = first + 1 end
    local start, last = messages[first], messages[#messages]
    local before = waiting and string.match(waiting, '^%d+ %d+ %d+ %d+')
        or string.format('%d %d %d %d', start.ms, start.low, start.count - 1,
            math.max(own - own_from(talk, user, first), 0))
    local total = tonumber(count or '0') + added
    oldest = math.min(tonumber(oldest or start.ms + TIME_ZERO), start.ms + TIME_ZERO)
    redis.call('HSET', key, 'w/' .. talk.name, before .. string.format(' %d %d', last.ms, last.low),
        'messages', total, 'oldest', oldest)
    redis.call('EXPIRE', key, life)
    if not waiting and redis.call('HLEN', key) > most then make_room(key) end
    local queue, member = 'im:due:' .. talk.tenant, partition .. '/' .. user
    local is_in = redis.call('ZSCORE', queue, member)
    if lease and is_in then return end
    local due = due_ms(talk.rule, now, total, oldest, seen)
    -- It never becomes later, unless what waited before is gone.
    redis.call('ZADD', queue, is_in and count and math.min(due, tonumber(is_in)) or due, member)
end

for a = FIXED + 1, #ARGV, PER_CONVERSATION do
    local talk = { messages = {}, sent = {}, rule = {} }
    talk.tenant, talk.name = string.match(ARGV[a], '^([^/]+)/(.+)$')
    for number in string.gmatch(ARGV[a + 1], '%d+') do talk.rule[#talk.rule + 1] = tonumber(number) end
    for ms, low, count, sender in string.gmatch(ARGV[a + 2], '(%d+) (%d+) (%d+) ([^\n]+)\n') do
        local number = #talk.messages + 1
        talk.messages[number] = { ms = tonumber(ms), low = tonumber(low), count = tonumber(count), sender = sender }
        talk.sent[sender] = talk.sent[sender] or {}
        table.insert(talk.sent[sender], number)
    end
    redis.call('ZREMRANGEBYSCORE', 'im:due:' .. talk.tenant, '-inf', FORGOTTEN)
    for partition, own, user in string.gmatch(ARGV[a + 3], '(%d+) (%d+) ([^\n]+)\n') do
        note(talk, partition, tonumber(own), user)
    end
end
return {'ok'}
