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

-- Beside the messages of a conversation: which of the hot ones were revised, what those say that were edited, and
-- the places among those that count of those that were taken back, but of what all members have read. None is
-- there when nothing was.
local function revisions_of(messages)
    return (string.gsub(messages, ':m:', ':r:', 1))
end

local function contents_of(messages)
    return (string.gsub(messages, ':m:', ':e:', 1))
end

local function recalled_of(messages)
    return (string.gsub(messages, ':m:', ':x:', 1))
end

-- What users have hidden: a sorted set of "user/c/id", of what would be unread, and "user/s/id", each by the order of the
-- ids. The hot ones are in it, and those that are yet to reach SQL, or would be unread.
local function hidden_of(messages)
    return (string.gsub(messages, ':m:', ':y:', 1))
end

-- All keys beside the messages of a conversation.
local function beside(messages)
    return { revisions_of(messages), contents_of(messages), recalled_of(messages), hidden_of(messages) }
end

local function hidden_name(user, class, stamp)
    local ms, low = split(stamp)
    return string.format('%s/%s/%013d-%07d', user, class, ms, low)
end

-- Says of a stamp whether the user has hidden that message; nil when none is known that the user has.
local function hidden_from(user, messages)
    local key = hidden_of(messages)
    if redis.call('ZLEXCOUNT', key, '[' .. user .. '/', '(' .. user .. '0') == 0 then return nil end
    return function(id)
        return redis.call('ZSCORE', key, hidden_name(user, 'c', id))
            or redis.call('ZSCORE', key, hidden_name(user, 's', id))
    end
end

-- Messages after a stamp that would be unread had the user not hidden them, and that nobody has taken back, the first
-- `most` looked at (-1: all).
local function hidden_after(user, messages, stamp, most)
    local recalled, out = recalled_of(messages), {}
    local names = redis.call('ZRANGEBYLEX', hidden_of(messages), '(' .. hidden_name(user, 'c', stamp),
        '(' .. user .. '/d', 'LIMIT', 0, most)
    for _, name in ipairs(names) do
        local ms, low = string.match(name, '(%d+)-(%d+)$')
        local id = stamp_of(tonumber(ms), tonumber(low))
        if not redis.call('ZSCORE', recalled, id) then out[#out + 1] = id end
    end
    return out
end

-- How many those are.
local function count_hidden(user, messages, stamp)
    local count = redis.call('ZLEXCOUNT', hidden_of(messages), '(' .. hidden_name(user, 'c', stamp), '(' .. user .. '/d')
    if count == 0 or redis.call('EXISTS', recalled_of(messages)) == 0 then return count end
    return #hidden_after(user, messages, stamp, -1)
end

-- The messages' revisions, or nil when none of them was revised.
local function revised(messages)
    local key = revisions_of(messages)
    return redis.call('EXISTS', key) == 1 and key or nil
end

-- Whether something was revised that is so in SQL only later: it has the log up to a stamp. `revisions`: what revised()
-- gave.
local function revised_after(revisions, stamp)
    for _, value in ipairs(revisions and redis.call('HVALS', revisions) or {}) do
        local logged = string.match(value, '^%S+ %d+ (%S+)')
        if logged ~= stamp and later(logged, stamp) == logged then return true end
    end
    return false
end

-- Forgets what messages below a stamp ("": all) have become: they are not hot any more.
local function forget_revisions(messages, stamp)
    local revisions = revised(messages)
    for _, id in ipairs(revisions and redis.call('HKEYS', revisions) or {}) do
        if stamp == '' or id ~= stamp and later(id, stamp) == stamp then
            redis.call('HDEL', revisions, id)
            redis.call('HDEL', contents_of(messages), id)
        end
    end
end

-- Whether a message was recalled or deleted; `revisions`: what revised() gave.
local EDIT = '2'
local function is_gone(revisions, id)
    local known = revisions and redis.call('HGET', revisions, id)
    return known and string.match(known, '^%S+ %d+ %S+ (%d)') ~= EDIT
end

-- What a message has become: "", or a line "action control" and the content that an edit gave, of which `most`
-- bytes are enough (-1: all). `revisions`: what revised() gave.
local function become(messages, revisions, id, most)
    local known = revisions and redis.call('HGET', revisions, id)
    if not known then return '' end
    local control, action = string.match(known, '^(%S+) %d+ %S+ (%d)')
    local content = action == EDIT and redis.call('HGET', contents_of(messages), id) or ''
    return action .. ' ' .. control .. '\n' .. string.sub(content, 1, most)
end

-- Adds a message to a reply: stamp, value, what it has become; the start of the value of the message it quotes,
-- as far as a summary needs it ("" when that one is not in the stream), and what that has become. To who has hidden
-- that, it is as if it were deleted; `is_hidden`: what hidden_from() gave.
local QUOTED_BYTES, AS_DELETED = 1024, '3 0-0\n'
local function take(out, messages, entry, revisions, is_hidden)
    local reply = entry[2][4]
    local quoted = reply and redis.call('XRANGE', messages, reply, reply)[1]
    out[#out + 1] = entry[1]
    out[#out + 1] = entry[2][2]
    out[#out + 1] = become(messages, revisions, entry[1], -1)
    out[#out + 1] = quoted and string.sub(quoted[2][2], 1, QUOTED_BYTES) or ''
    local is_away = quoted and is_hidden and is_hidden(reply)
    out[#out + 1] = is_away and AS_DELETED or quoted and become(messages, revisions, reply, QUOTED_BYTES) or ''
end

-- Adds up to `wanted` messages between two stamps ("+": no end) to a reply, but for those that the user has hidden and
-- those of other `kinds` ("" all, or ",1,2,"). Gives "", or, when very many were left out, the stamp at which it has
-- stopped.
local TAKE_SCAN_MAX, TAKE_CHUNK, TAKE_SPARE = 2000, 500, 50
local function take_range(out, messages, user, is_up, above, below, wanted, kinds)
    if wanted == 0 then return '' end
    local revisions, is_hidden = revised(messages), hidden_from(user, messages)
    local chunk = kinds ~= '' and TAKE_CHUNK or is_hidden and wanted + TAKE_SPARE or wanted
    local from, to, found, scanned = '(' .. above, below == '+' and '+' or '(' .. below, 0, 0
    repeat
        local entries = is_up and redis.call('XREVRANGE', messages, to, from, 'COUNT', chunk)
            or redis.call('XRANGE', messages, from, to, 'COUNT', chunk)
        for _, entry in ipairs(entries) do
            if is_up then to = '(' .. entry[1] else from = '(' .. entry[1] end
            local is_wanted = kinds == '' or string.find(kinds, ',' .. string.match(entry[2][2], '^%d+') .. ',', 1, true)
            if is_wanted and not (is_hidden and is_hidden(entry[1])) then
                take(out, messages, entry, revisions, is_hidden)
                found = found + 1
                if found == wanted then return '' end
            end
        end
        scanned = scanned + #entries
        if scanned >= TAKE_SCAN_MAX and #entries == chunk then return entries[#entries][1] end
    until #entries < chunk
    return ''
end

-- A message's value is "kind\nseq\ncountable\nrecord", and a record begins with version, kind, flags (2: it does
-- not count), 16 bytes, reply (8); then come its sender, after its length, and the rest.
local SILENT, FLAGS, SENDER = 2, 3, 28
local function read_value(value)
    local kind, seq, count = string.match(value, '^(%d+)\n(%d+)\n(%d+)\n')
    local start = #kind + #seq + #count + 3
    local length = string.byte(value, start + SENDER)
    return {
        kind = kind, seq = tonumber(seq), count = tonumber(count),
        is_silent = math.floor(string.byte(value, start + FLAGS) / SILENT) % 2 == 1,
        sender = string.sub(value, start + SENDER + 4, start + SENDER + 3 + length),
    }
end

-- Who has said a message that counts; nil of one that does not, or was taken back. `revisions`: what revised() gave.
local function counted_sender(entry, revisions)
    local said = read_value(entry[2][2])
    return not said.is_silent and not is_gone(revisions, entry[1]) and said.sender or nil
end

-- How many of a user's own messages above a stamp are hot and count. What was taken back counts for nobody. Where
-- there are more than `most` messages to look at, also the stamp up to which it has looked.
local function own_after(user, messages, stamp, most)
    local CHUNK = 500
    local scanned, own, revisions = 0, 0, revised(messages)
    repeat
        local entries = redis.call('XRANGE', messages, '(' .. stamp, '+', 'COUNT', CHUNK)
        for _, entry in ipairs(entries) do
            if counted_sender(entry, revisions) == user then own = own + 1 end
            stamp = entry[1]
        end
        scanned = scanned + #entries
        if scanned >= most and #entries == CHUNK then return own, stamp end
    until #entries < CHUNK
    return own
end

-- Puts a message into the stream and the log of a conversation, under the next stamp and `seq`; gives the
-- stamp. `head` is changed and has to be saved: see save_head(). `gap`: what seq jumps by in a new epoch.
local function put(clock, partition, log, gap, head, message)
    local ms, low = tick(clock, partition)
    if head.epoch ~= clock.epoch then
        head.seq = head.seq + gap
        head.epoch = clock.epoch
    end
    head.seq = head.seq + 1
    if message.counts then
        head.count = head.count + 1
        redis.call('HINCRBY', head.own, message.sender, 1)
    end
    local place = string.format('%d\n%d\n', head.seq, head.count)
    local stamp, value = stamp_of(ms, low), message.kind .. '\n' .. place .. message.record
    if message.reply == '' then
        redis.call('XADD', head.messages, stamp, 'v', value)
    else
        redis.call('XADD', head.messages, stamp, 'v', value, 'r', message.reply)
    end
    redis.call('XADD', log, '*', 'v', string.format('m\n%d\n%d\n%s\n%s\n%s\n', ms, low, head.name, head.cid,
        clock.epoch) .. place .. message.record)
    if head.front == '' and not head.new_front then head.new_front = stamp end
    head.last = stamp
    return ms, low
end

-- The stamp up to which the messages of a conversation have expired. `times`: "now single group system": now, and for
-- each type the time from which on messages are kept (ms since the zero of ids; 0: nothing expires). `keep`: for how long
-- the conversation itself keeps them (ms, 0: for ever; "" or none: as its type); `hold`: "1": nothing of it expires.
local LOW_MAX = 4194303
local function expired_of(times, kind, keep, hold)
    local at = {}
    for number in string.gmatch(times, '%d+') do at[#at + 1] = tonumber(number) end
    local from = at[1 + tonumber(kind)]
    keep = tonumber(keep or '')
    if keep then from = keep == 0 and 0 or at[1] - keep end
    if hold == '1' or from <= 0 then return '0-0' end
    return stamp_of(from - 1, LOW_MAX)
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
    for _, key in ipairs(beside(keys[3])) do redis.call('PERSIST', key) end
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

-- ---- What has changed for whom ----
--
-- Changes are numbered per server, rising, about by time: (ms since the zero of ids) * 4096. A number that
-- is given because of one of another server is above that one, too.
local CHANGES, LIFE, VERSION_STEP = 'im:changes', 'im:life', 4096
local function next_version(after)
    local last = tonumber(redis.call('GET', CHANGES) or '0')
    local version = string.format('%.0f', math.max(last, wall_ms() * VERSION_STEP - 1, after or 0) + 1)
    redis.call('SET', CHANGES, version)
    return version
end

-- Where a conversation stands in an index that is put there for what was said long ago: at the number, or below, where
-- nothing else stands, for a walk goes on behind a number; and never above the last that was given, or a walk would
-- go on behind what is to come.
local function free_number(said, other, number, last)
    number = math.min(tonumber(number), tonumber(last) - 1)
    while redis.call('ZCOUNT', said, number, number) + redis.call('ZCOUNT', other, number, number) > 0 do
        number = number - 1
    end
    return string.format('%.0f', number)
end

-- The partition whose server keeps a user's index; `owner` is "tenant/user".
local function partition_of_user(owner)
    return tonumber(string.sub(redis.sha1hex(owner), 1, 2), 16)
end

-- Whether a user's index is on this server: `here` has a "1" for each partition that is ("": all are).
local function is_here(here, q)
    return here == '' or string.sub(here, q + 1, q + 1) == '1'
end

-- Notes in a user's index what has happened in a conversation:
--   s: something was said; j, J: the user has joined it, it is noted for each member or looked up;
--   n, w: so are all its members from now on; l: the user has left; o: something else.
-- An entry that is looked up has an infinite number, and keeps it unless "n" comes, with which the entry
-- stands as if something had been said last at the number `said_at` (none: now).
local LOOKED_UP = '+inf'
local function note(op, owner, q, conversation, version, life, said_at)
    local said, other = user_key('u', q, owner), user_key('v', q, owner)
    if op == 's' then
        redis.call('ZADD', said, 'XX', 'GT', version, conversation)
        return
    end
    if op == 'j' then
        redis.call('ZADD', said, 'GT', version, conversation)
    elseif op == 'n' then
        redis.call('ZADD', said, said_at and free_number(said, other, said_at, version) or version, conversation)
    elseif op == 'J' or op == 'w' then
        redis.call('ZADD', said, LOOKED_UP, conversation)
    end
    if op ~= 'o' and op ~= 'l' then redis.call('EXPIRE', said, life) end
    -- An index that is not there is made anew when it is asked for, and whoever asks begins anew.
    if redis.call('EXISTS', said) == 1 then
        redis.call('ZADD', other, 'GT', version, conversation)
        redis.call('EXPIRE', other, life)
    end
end

-- As note(), for users of the conversation "tenant/conversation", which is on this server: `ops` has op and
-- user in turn. Adds op and user of those whose index is on another server to `out`. An entry of such a user
-- stays when the user leaves, since what is told there may come late; readers look at the members.
local function note_all(ops, name, version, life, here, out, said_at)
    local tenant, conversation = string.match(name, '^([^/]+)/(.+)$')
    for i = 1, #ops, 2 do
        local owner = tenant .. '/' .. ops[i + 1]
        local q = partition_of_user(owner)
        if is_here(here, q) then
            note(ops[i], owner, q, conversation, version, life, said_at)
            if ops[i] == 'l' then redis.call('ZREM', user_key('u', q, owner), conversation) end
        else
            out[#out + 1] = ops[i]
            out[#out + 1] = ops[i + 1]
        end
    end
end

-- One op for all members of a conversation.
local function for_members(op, members)
    local ops = {}
    for _, user in ipairs(redis.call('HKEYS', members)) do
        ops[#ops + 1] = op
        ops[#ops + 1] = user
    end
    return ops
end

-- In which life this server gives numbers; 0: it has no name. After a loss numbers may come again.
local function life()
    return redis.call('GET', LIFE) or '0'
end

-- Adds to a reply what other servers have to be told of a conversation: the server's life and version, the number by
-- which it stands in lists (0: as new), users, then op and user.
local function tell(out, version, others, said_at)
    out[#out + 1] = #others > 0 and life() or '0'
    out[#out + 1] = version
    out[#out + 1] = said_at or 0
    out[#out + 1] = #others / 2
    for _, word in ipairs(others) do out[#out + 1] = word end
end

-- What a script gives that has changed nothing.
local function tell_nothing(out)
    tell(out, 0, {})
    return out
end
