-- Recalls, edits or deletes a message of a hot conversation.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 actor, 6 privileged (0|1), 7 stamp
--       of the message, 8 stamp from which on senders may do so with what they said, 9 times (see
--       expired_of), 10 seq gap of a new epoch, 11 record of the control message, 12 reason, 13 most members of
--       which each is told, 14 users of this server (see is_here), 15 life of an index (s), 16 action, 17 content
--       that an edit gives ("" of other actions), 18 its summary, 19 most edits of a message; when the message is
--       not hot and SQL was asked: 20 what "far" gave then, 21 its sender, 22 kind, 23 countable (0: it does not
--       count), 24 1 when it has that content, 25 action of its last revision (0 none), 26 stamp of that one's
--       control message ("" not known), 27 the seq of it, 28 edits so far (else "")
-- Gives {"verify"}, {"cold"}, {"stranger"}, {"missing"}, {"far", cid, number of the conversation's last revision}: SQL
--       has to be asked, {"control"}, {"final"}: it was recalled or deleted otherwise, {"other"}: somebody else
--       said it, {"late"}, {"edits"}: they are too many, {"backlog"}; or, also when it is so already, {"ok",
--       stamp of the control message ("" none), its seq, 1 when the message is hot, what tell() says}.
local OWNER, ADMIN, GROUP, CONTROL = '1', '2', '2', '7'
local OPERATOR, SENDER_ROLE = '0', '3'
local STATUS = { ['1'] = 1, ['2'] = 0, ['3'] = 2 }
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local found = redis.call('HMGET', KEYS[3], 'base', 'cid', 'kind', 'history', 'seq', 'count', 'epoch', 'hot', 'front', 'last',
    'shown', 'revision_version', 'keep', 'hold')
if found[1] ~= clock.base then return {'cold'} end
local actor, privileged, target, action = ARGV[5], ARGV[6] == '1', ARGV[7], ARGV[16]
local member = redis.call('HGET', KEYS[4], actor)
if not member and not privileged then return {'stranger'} end
local expired = expired_of(ARGV[9], found[3], found[13], found[14])
local floor = member and floor_of(found[4], member, expired) or expired
if later(floor, target) == floor then return {'missing'} end

-- What the message is.
local revisions, contents = revisions_of(KEYS[5]), contents_of(KEYS[5])
local known, last_revision = redis.call('HGET', revisions, target), found[12] or ''
local entry, said, before = redis.call('XRANGE', KEYS[5], target, target)[1], nil, nil
if entry then
    said = read_value(entry[2][2])
    if said.is_silent then said.count = 0 end
elseif ARGV[21] ~= '' and ARGV[20] == last_revision then
    said = { sender = ARGV[21], kind = ARGV[22], count = tonumber(ARGV[23]) }
else
    local hot = hot_from(found[8], found[9], found[10], KEYS[5])
    if later(target, hot) == target then return {'missing'} end
    return {'far', found[2], last_revision}
end
if known then
    local control, seq, by_action, edits = string.match(known, '^(%S+) (%d+) %S+ (%d) (%d+)$')
    before = { control = control, seq = tonumber(seq), action = by_action, edits = tonumber(edits) }
elseif not entry and ARGV[25] ~= '0' then
    before = { control = ARGV[26], seq = tonumber(ARGV[27]), action = ARGV[25], edits = tonumber(ARGV[28]) }
end

-- The text at a place of a record, and the place after it.
local function text_at(value, at)
    local a, b, c, d = string.byte(value, at, at + 3)
    local after = at + 4 + a + b * 256 + c * 65536 + d * 16777216
    return string.sub(value, at + 4, after - 1), after
end

-- Whether the message has the content that an edit would give it.
local function is_same()
    if known then return redis.call('HGET', contents, target) == ARGV[17] end
    if not entry then return ARGV[24] == '1' end
    local value = entry[2][2]
    local _, at = text_at(value, #string.match(value, '^%d+\n%d+\n%d+\n') + SENDER)
    _, at = text_at(value, at)
    return text_at(value, at) == ARGV[17]
end

local function is_done()
    return tell_nothing({'ok', before and before.control or '', before and before.seq or 0, entry and 1 or 0})
end

if said.kind == CONTROL then return {'control'} end
if before and before.action ~= EDIT then
    return before.action == action and is_done() or {'final'}
end
local role, by = member and string.match(member, '^%d+'), nil
if action ~= EDIT then
    if privileged then
        by = OPERATOR
    elseif found[3] == GROUP and (role == OWNER or role == ADMIN) then
        by = role
    end
end
if not by then
    if said.sender ~= actor then return {'other'} end
    if action == EDIT and is_same() then return is_done() end
    if later(target, ARGV[8]) ~= target then return {'late'} end
    if action == EDIT and before and before.edits >= tonumber(ARGV[19]) then return {'edits'} end
    by = SENDER_ROLE
end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end

-- The control message, and the revision behind it in the log.
local partition = tonumber(ARGV[2])
local head = {
    cid = found[2], seq = tonumber(found[5]), count = tonumber(found[6]), epoch = found[7], front = found[9],
    name = ARGV[4], messages = KEYS[5], own = KEYS[6],
}
local ms, low = put(clock, partition, KEYS[2], tonumber(ARGV[10]), head,
    { sender = actor, counts = false, kind = CONTROL, reply = '', record = ARGV[11] })
local control = stamp_of(ms, low)
local x_ms, x_low = tick(clock, partition)
local logged = stamp_of(x_ms, x_low)
local counted = action == EDIT and 0 or said.count
local value = string.format('%d\n%d\n%s\n%s\n%s\n%s\n%s\n%d\n%s\n%s\n%s\n%d\n', x_ms, x_low, ARGV[4], head.cid, target,
    action, control, counted, said.sender, actor, by, wall_ms() + TIME_ZERO)
if action == EDIT then
    value = 'e\n' .. value .. #ARGV[12] .. '\n' .. ARGV[12] .. ARGV[17]
else
    value = 'v\n' .. value .. ARGV[12]
end
redis.call('XADD', KEYS[2], '*', 'v', value)

-- What the message is from now on.
local edits = before and before.edits or 0
if action == EDIT then
    edits = edits + 1
    redis.call('HSET', contents, target, ARGV[17])
else
    redis.call('HDEL', contents, target)
end
redis.call('HSET', revisions, target, string.format('%s %d %s %s %d', control, head.seq, logged, action, edits))

-- What was taken back counts for nobody: neither as unread, nor as the sender's own.
local recalled = recalled_of(KEYS[5])
if counted > 0 and not redis.call('ZSCORE', recalled, target) then
    redis.call('ZADD', recalled, counted, target)
    local sender = redis.call('HGET', KEYS[4], said.sender)
    if sender then
        local role_and, f_ms, f_low, r_ms, r_low, r_count, r_own, rest =
            string.match(sender, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
        local joined, read = f_ms .. '-' .. f_low, r_ms .. '-' .. r_low
        local own = tonumber(redis.call('HGET', KEYS[6], said.sender) or '0')
        if later(joined, target) == target and target ~= joined and own > 0 then
            redis.call('HSET', KEYS[6], said.sender, own - 1)
            if later(read, target) == read then
                redis.call('HSET', KEYS[4], said.sender, string.format('%s %s %s %s %s %s %d %s', role_and, f_ms, f_low,
                    r_ms, r_low, r_count, math.max(0, tonumber(r_own) - 1), rest))
            end
        end
    end
end

local version, others = next_version(), {}
if redis.call('HLEN', KEYS[4]) <= tonumber(ARGV[13]) then
    note_all(for_members('o', KEYS[4]), ARGV[4], version, ARGV[15], ARGV[14], others)
end
if head.new_front then redis.call('HSET', KEYS[3], 'front', head.new_front) end
if found[11] == target then
    redis.call('HSET', KEYS[3], 'last_summary', ARGV[18], 'shown_status', STATUS[action])
end
redis.call('HSET', KEYS[3], 'seq', head.seq, 'count', head.count, 'epoch', clock.epoch, 'last', head.last, 'logged', logged,
    'update_time', ms + TIME_ZERO, 'revision_version', version)
save(clock)
count_waiting(KEYS[1], string.match(ARGV[4], '^[^/]+'), 1)
stay_hot({ KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] })
local out = {'ok', control, head.seq, entry and 1 or 0}
tell(out, version, others)
return out
