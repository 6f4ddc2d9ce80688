-- Ends leases that are confirmed, and leases users of a tenant who are due for a push, the longest due first.
--
-- KEYS  1 a clock of the server, 2 due queue
-- ARGV  1 run, 2 tenant, 3 users to lease, 4 the lease's name, 5 its life (ms), 6 life of what waits (s),
--       7 conversations of one user max, 8 "messages wait-ms offline-ms" (the tenant's rule), 9 leases that are
--       confirmed; then for each of them: the user's partition, user, name of the lease; then for each lease that is
--       given back, since its user is not due yet: the same, messages that wait, time of the oldest (ms since 1970)
-- Gives {"verify"}; or {"ok", time (ms since 1970), then for each user: user, whether a push may show what was said ("" not known here),
--       position of the user's database, conversations, then for each: conversation, ms and low of the first message that waits, countable
--       messages before it, of these the user's own}.
-- What waits is kept as wake.lua says.
local FIXED, PER_LEASE, PER_RETURN = 9, 3, 5
local ROUNDS_MAX = 4 -- users of whom nothing is kept any more take a place each
if not clock_of(KEYS[1], ARGV[1]) then return {'verify'} end
local now, tenant = wall_ms() + TIME_ZERO, ARGV[2]
local rule = {}
for number in string.gmatch(ARGV[8], '%d+') do rule[#rule + 1] = tonumber(number) end

-- When the user last synced, whether a push may show what was said, and the position of the user's database.
local function state_of(partition, user)
    local clock = redis.call('HMGET', 'im:{' .. partition .. '}:clock', 'base', 'db')
    local seen, show = seen_of(user_key('s', partition, tenant .. '/' .. user), clock[1], 'show')
    return seen, show, clock[2]
end

-- The fields of a hash, by what stands before their slash; those without one by themselves.
local function read(key)
    local found, all = { w = {}, l = {}, c = {} }, redis.call('HGETALL', key)
    for i = 1, #all, 2 do
        local kind, name = string.match(all[i], '^(%l)/(.+)$')
        if kind then found[kind][name] = all[i + 1] else found[all[i]] = all[i + 1] end
    end
    return found
end

-- The key of a user and what it holds, if this lease is good; or nil.
local function leased_by(partition, user, lease)
    local key = user_key('n', partition, tenant .. '/' .. user)
    local known = redis.call('HMGET', key, 'lease', 'until')
    if known[1] ~= lease or tonumber(known[2]) <= now then return nil end
    return key, read(key)
end

local function confirm(partition, user, lease)
    local key, found = leased_by(partition, user, lease)
    if not key then return end
    local member = partition .. '/' .. user
    for name in pairs(found.c) do redis.call('HDEL', key, 'c/' .. name) end
    for name, value in pairs(found.l) do
        redis.call('HDEL', key, 'l/' .. name)
        redis.call('HSET', key, 'c/' .. name, value)
    end
    redis.call('HSET', key, 'pushed', found.leased)
    redis.call('HDEL', key, 'lease', 'until', 'leased')
    if found.messages then
        local due = due_ms(rule, now, tonumber(found.messages), tonumber(found.oldest), (state_of(partition, user)))
        redis.call('ZADD', KEYS[2], due, member)
    else
        redis.call('ZREM', KEYS[2], member)
    end
end

local function give_back(partition, user, lease, messages, oldest)
    local key, found = leased_by(partition, user, lease)
    if not key then return end
    for name, value in pairs(found.l) do
        local last = string.match(found.w[name] or value, ' %d+ %d+$')
        redis.call('HDEL', key, 'l/' .. name)
        redis.call('HSET', key, 'w/' .. name, string.match(value, '^%d+ %d+ %d+ %d+') .. last)
    end
    redis.call('HDEL', key, 'lease', 'until', 'leased')
    messages = messages + tonumber(found.messages or '0')
    redis.call('HSET', key, 'messages', messages, 'oldest', oldest)
    local due = due_ms(rule, now, messages, oldest, (state_of(partition, user)))
    redis.call('ZADD', KEYS[2], due, partition .. '/' .. user)
end

local function is_later(a, b)
    local a_ms, a_low = string.match(a, '(%d+) (%d+)$')
    local b_ms, b_low = string.match(b, '(%d+) (%d+)$')
    return is_after(tonumber(a_ms), tonumber(a_low), tonumber(b_ms), tonumber(b_low))
end

-- What waits joins what was leased before and not confirmed. Gives the names, the latest first.
local function join(key, found)
    local names = {}
    for name, value in pairs(found.w) do
        local first = string.match(found.l[name] or value, '^%d+ %d+ %d+ %d+')
        found.l[name] = first .. string.match(value, ' %d+ %d+$')
        redis.call('HDEL', key, 'w/' .. name)
    end
    for name in pairs(found.l) do names[#names + 1] = name end
    table.sort(names, function(a, b) return is_later(found.l[a], found.l[b]) end)
    for i = #names, tonumber(ARGV[7]) + 1, -1 do
        redis.call('HDEL', key, 'l/' .. names[i])
        names[i] = nil
    end
    for _, name in ipairs(names) do redis.call('HSET', key, 'l/' .. name, found.l[name]) end
    return names
end

local out = { 'ok', now }

-- Gives whether there was something to lease.
local function lease(member)
    local partition, user = string.match(member, '^(%d+)/(.+)$')
    local key = user_key('n', partition, tenant .. '/' .. user)
    local found = read(key)
    local names = join(key, found)
    if #names == 0 then
        redis.call('ZREM', KEYS[2], member)
        return false
    end
    local till = now + tonumber(ARGV[5])
    redis.call('HDEL', key, 'messages', 'oldest')
    redis.call('HSET', key, 'lease', ARGV[4], 'until', till, 'leased', now)
    redis.call('EXPIRE', key, ARGV[6])
    redis.call('ZADD', KEYS[2], till, member)
    local _, show, database = state_of(partition, user)
    out[#out + 1] = user
    out[#out + 1] = show or ''
    out[#out + 1] = database
    out[#out + 1] = #names
    for _, name in ipairs(names) do
        out[#out + 1] = name
        for number in string.gmatch(string.match(found.l[name], '^%d+ %d+ %d+ %d+'), '%d+') do out[#out + 1] = number end
    end
    return true
end

local returned = FIXED + tonumber(ARGV[9]) * PER_LEASE
for a = FIXED + 1, returned, PER_LEASE do confirm(ARGV[a], ARGV[a + 1], ARGV[a + 2]) end
for a = returned + 1, #ARGV, PER_RETURN do
    give_back(ARGV[a], ARGV[a + 1], ARGV[a + 2], tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]))
end
local leased, wanted = 0, tonumber(ARGV[3])
for _ = 1, wanted > 0 and ROUNDS_MAX or 0 do
    local members = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, wanted - leased)
    if #members == 0 then break end
    for _, member in ipairs(members) do
        if lease(member) then leased = leased + 1 end
    end
    if leased >= wanted then break end
end
return out
