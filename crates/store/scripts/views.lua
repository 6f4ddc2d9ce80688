-- Reads conversations as a user sees them.
--
-- KEYS  for each conversation: clock, head, members, own, messages
-- ARGV  1 run, 2 user, 3 times (see expired_of), 4 messages looked at for the last one that the user has not hidden
-- Gives {"verify"}; or {"ok", number of the last change of this server, its life, then for each conversation 37
--       values}: state (0 not hot, 1 hot, 2 hot under another base), epoch, cid, kind, history, members, seq, count,
--       last, hot, create time, update time, sender, kind and summary of the last message that is shown, its stamp, seq and status, numbers
--       of the last message, of the last change of members or settings and of the last revision ("" none), number
--       by which it stands in lists, member ("" none), own, place among those that count of the oldest hot
--       message that has not expired and counts (0 none), stamp of the oldest hot one ("" none), messages that count
--       and were taken back after the member's read position, or after what has expired; of a member who has read
--       nothing that has not expired, the hot messages of its own that count and have not; messages after the read
--       position that have not expired and would be unread, had the member not hidden them; number of the change with
--       which it last hid something ("" not known); for how long the conversation keeps messages itself (ms; "": it does
--       not say), whether it is held (1, "" or 0), stamp up to which its messages have expired; "" when the member has
--       not hidden the last message that is shown, or where the newest one is that is left: "hot", and its stamp, the
--       start of its value and what it has become, "sql", and the stamp below which it is, or "none".
local SCAN_MAX, CHUNK = 2000, 100

-- How many messages after a stamp were taken back: they rise with their places.
local function recalled_after(messages, stamp)
    local count, ids = 0, nil
    repeat
        ids = redis.call('ZREVRANGE', recalled_of(messages), count, count + CHUNK - 1)
        for _, id in ipairs(ids) do
            if later(id, stamp) == stamp then return count end
            count = count + 1
        end
    until #ids < CHUNK
    return count
end

local FIELDS = { 'cid', 'kind', 'history', 'members', 'seq', 'count', 'last', 'hot', 'create_time', 'update_time',
    'last_sender', 'last_kind', 'last_summary', 'shown', 'shown_seq', 'shown_status', 'version', 'membership_version',
    'revision_version', 'placed' }
local out = {'ok', redis.call('GET', CHANGES) or '0', life()}
local CONTROL = '7'
local function newest_left(head, messages, shown)
    local is_hidden = shown and hidden_from(ARGV[2], messages)
    if not is_hidden or not is_hidden(shown) then return '', '', '', '' end
    local entries = redis.call('XREVRANGE', messages, '(' .. shown, '-', 'COUNT', ARGV[4])
    for _, entry in ipairs(entries) do
        local id, value = entry[1], entry[2][2]
        if string.match(value, '^%d+') ~= CONTROL and not is_hidden(id) then
            return 'hot', id, string.sub(value, 1, QUOTED_BYTES), become(messages, revised(messages), id, QUOTED_BYTES)
        end
    end
    if #entries == tonumber(ARGV[4]) then return 'none', '', '', '' end
    local found = redis.call('HMGET', head, 'hot', 'front', 'last')
    local hot = hot_from(found[1], found[2], found[3], messages)
    return 'sql', later(hot, shown) == hot and shown or hot, '', ''
end

for k = 1, #KEYS, 5 do
    local clock = clock_of(KEYS[k], ARGV[1])
    if not clock then return {'verify'} end
    local base = redis.call('HGET', KEYS[k + 1], 'base')
    local head = redis.call('HMGET', KEYS[k + 1], unpack(FIELDS))
    out[#out + 1] = base == clock.base and 1 or (base and 2 or 0)
    out[#out + 1] = clock.epoch
    for field = 1, #FIELDS do out[#out + 1] = head[field] or '' end
    local member = redis.call('HGET', KEYS[k + 2], ARGV[2])
    out[#out + 1] = member or ''
    out[#out + 1] = redis.call('HGET', KEYS[k + 3], ARGV[2]) or '0'
    local keep, hold = unpack(redis.call('HMGET', KEYS[k + 1], 'keep', 'hold'))
    local expired = head[2] and expired_of(ARGV[3], head[2], keep, hold) or '0-0'
    local oldest = expired ~= '0-0' and redis.call('XRANGE', KEYS[k + 4], '(' .. expired, '+', 'COUNT', 1)[1]
    local said = oldest and read_value(oldest[2][2])
    out[#out + 1] = said and (said.is_silent and said.count + 1 or said.count) or 0
    out[#out + 1] = oldest and oldest[1] or ''
    local read_ms, read_low, read = string.match(member or '', '^%d+ %d+ %d+ (%d+) (%d+) (%d+)')
    local is_behind = expired ~= '0-0' and read and later(read_ms .. '-' .. read_low, expired) == expired
    if is_behind then
        out[#out + 1] = recalled_after(KEYS[k + 4], expired)
    else
        out[#out + 1] = read and redis.call('ZCOUNT', recalled_of(KEYS[k + 4]), '(' .. read, '+inf') or 0
    end
    out[#out + 1] = is_behind and own_after(ARGV[2], KEYS[k + 4], expired, SCAN_MAX) or 0
    local after = read and later(read_ms .. '-' .. read_low, expired)
    out[#out + 1] = after and count_hidden(ARGV[2], KEYS[k + 4], after) or 0
    out[#out + 1] = redis.call('HGET', KEYS[k + 1], 'hidden/' .. ARGV[2]) or ''
    out[#out + 1] = keep or ''
    out[#out + 1] = hold or ''
    out[#out + 1] = expired
    for _, fact in ipairs({ newest_left(KEYS[k + 1], KEYS[k + 4], member and head[14]) }) do out[#out + 1] = fact end
end
return out
