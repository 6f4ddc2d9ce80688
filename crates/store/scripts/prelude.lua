-- What the scripts share; it stands before each of them.
--
-- A stamp is an id in two numbers, since Lua's hold 53 bits: milliseconds since the zero of ids, and the
-- 22 bits below them (partition and counter). Its text, "ms-low", is the id of a stream entry.
local TIME_ZERO, PARTITION_STEP, COUNTER_MAX = 1704067200000, 16384, 16383

-- Milliseconds since the zero of ids, by this server's clock.
local function wall_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000) - TIME_ZERO
end

-- A partition's clock; nil unless it was adopted for this run of the server. Two lists of servers may be
-- in use while databases are added or removed.
local function clock_of(key, run)
    local found = redis.call('HMGET', key, 'run', 'epoch', 'base', 'ms', 'n', 'also')
    if found[1] ~= run and found[6] ~= run then return nil end
    return { key = key, epoch = found[2], base = found[3], ms = tonumber(found[4]), n = tonumber(found[5]) }
end

-- The server's run without the list of servers.
local function id_of(run)
    return run and string.match(run, '^[^/]*')
end

-- The next stamp of a partition. It never goes back, whatever the server's clock does; a full
-- millisecond borrows the next.
local function tick(clock, partition)
    if not clock.wall then clock.wall = wall_ms() end
    if clock.wall > clock.ms then
        clock.ms, clock.n = clock.wall, 0
    elseif clock.n < COUNTER_MAX then
        clock.n = clock.n + 1
    else
        clock.ms, clock.n = clock.ms + 1, 0
    end
    return clock.ms, partition * PARTITION_STEP + clock.n
end

local function save(clock)
    redis.call('HSET', clock.key, 'ms', clock.ms, 'n', clock.n)
end

-- A key of a user's own, on the server of the user's partition; `user`: "tenant/user".
local function user_key(kind, partition, user)
    return 'im:{' .. partition .. '}:' .. kind .. ':' .. user
end

-- When a user last synced (ms since 1970; 0: not known), by the state at `key`, and what else is asked for.
-- State from before a loss says nothing.
local function seen_of(key, base, other)
    local found = redis.call('HMGET', key, 'base', 'seen', other or 'show')
    if not base or found[1] ~= base then return 0 end
    return tonumber(found[2] or '0'), found[3]
end

-- When a user is due for a push; `rule`: messages that are enough, how long one waits, how long ago who is
-- offline has synced (ms).
local function due_ms(rule, now, messages, oldest, seen)
    local waited = messages >= rule[1] and now or oldest + rule[2]
    return math.max(waited, seen + rule[3])
end

local function split(stamp)
    local ms, low = string.match(stamp, '^(%d+)-(%d+)$')
    return tonumber(ms), tonumber(low)
end

local function stamp_of(ms, low)
    return string.format('%d-%d', ms, low)
end

local function is_after(ms, low, than_ms, than_low)
    return ms > than_ms or (ms == than_ms and low > than_low)
end

-- The later of two stamps.
local function later(a, b)
    local a_ms, a_low = split(a)
    local b_ms, b_low = split(b)
    return is_after(a_ms, a_low, b_ms, b_low) and a or b
end

-- Adds a message to a reply: stamp, value, and the start of the value of the message it quotes, as far
-- as a summary needs it ("" when that one is not in the stream).
local QUOTED_BYTES = 1024
local function take(out, messages, entry)
    local reply = entry[2][4]
    local quoted = reply and redis.call('XRANGE', messages, reply, reply)[1]
    out[#out + 1] = entry[1]
    out[#out + 1] = entry[2][2]
    out[#out + 1] = quoted and string.sub(quoted[2][2], 1, QUOTED_BYTES) or ''
end

-- The stamp up to which a member sees nothing: what has expired, and, where joiners see only what is
-- said after they joined, what was said before.
local FROM_JOIN = '1'
local function floor_of(history, member, expired)
    if history ~= FROM_JOIN then return expired end
    local ms, low = string.match(member, '^%d+ (%d+) (%d+)')
    return later(expired, ms .. '-' .. low)
end

-- Keeps a conversation hot that has an entry in the log: its keys, the head first. While one waits
-- there, the head says which was the last ("logged").
local function stay_hot(keys)
    if redis.call('PTTL', keys[1]) < 0 then return end
    for _, key in ipairs(keys) do redis.call('PERSIST', key) end
end

-- A script's first write is refused when memory is full, if it could add to it. Draining has to go on
-- then; so it begins with a write that cannot, and changes nothing.
local function write_though_full(key)
    redis.call('PERSIST', key)
end

-- Counts the tenants' messages that wait in a partition's log.
local function count_waiting(clock_key, tenant, count)
    local key = string.gsub(clock_key, 'clock$', 'waiting')
    if redis.call('HINCRBY', key, tenant, count) <= 0 then redis.call('HDEL', key, tenant) end
end

-- What an entry that was put back ("r") holds.
local function within(value)
    return (string.gsub(value, '^r\n%d+\n%d+\n', ''))
end

-- The tenant of a log entry that is a message, or nil.
local function tenant_of(value)
    value = within(value)
    return string.match(value, '^m\n%d+\n%d+\n([^/\n]+)/')
end

-- From which stamp on all messages are in the stream. The head says it, and which entry was the first
-- then ("front"); when another is the first by now, the stream was trimmed from outside.
local function hot_from(hot, front, last, messages)
    local first = redis.call('XRANGE', messages, '-', '+', 'COUNT', 1)[1]
    if (first and first[1] or '') == front then return hot end
    if first then return first[1] end
    local ms, low = split(last)
    return stamp_of(ms, low + 1)
end
