-- Takes a message of a hot conversation back.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 actor, 6 privileged (0|1), 7 stamp
--       of the message, 8 stamp from which on senders may take back what they said, 9 stamp up to which messages
--       have expired, 10 seq gap of a new epoch, 11 record of the control message, 12 reason, 13 most members of
--       which each is told, 14 users of this server (see is_here), 15 life of an index (s); when the message is
--       not hot and SQL was asked: 16 its sender, 17 kind, 18 countable (0: it does not count) (else "")
-- Gives {"verify"}, {"cold"}, {"stranger"}, {"missing"}, {"far", cid}: SQL has to be asked, {"control"}, {"other"}:
--       somebody else said it, {"late"}, {"backlog"}; or, also when it was taken back before, {"ok",
--       stamp of the control message, its seq, 1 when the message is hot, what tell() says}.
local OWNER, ADMIN, GROUP, CONTROL = '1', '2', '2', '7'
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local found = redis.call('HMGET', KEYS[3], 'base', 'cid', 'kind', 'history', 'seq', 'count', 'epoch', 'hot', 'front', 'last',
    'shown')
if found[1] ~= clock.base then return {'cold'} end
local actor, privileged, target = ARGV[5], ARGV[6] == '1', ARGV[7]
local member = redis.call('HGET', KEYS[4], actor)
if not member and not privileged then return {'stranger'} end
local floor = member and floor_of(found[4], member, ARGV[9]) or ARGV[9]
if later(floor, target) == floor then return {'missing'} end

local revisions = revisions_of(KEYS[5])
local before = redis.call('HGET', revisions, target)
local entry, said = redis.call('XRANGE', KEYS[5], target, target)[1], nil
if before then
    local stamp, seq = string.match(before, '^(%S+) (%d+)')
    return tell_nothing({'ok', stamp, tonumber(seq), entry and 1 or 0})
end
if entry then
    said = read_value(entry[2][2])
    if said.is_silent then said.count = 0 end
elseif ARGV[16] ~= '' then
    said = { sender = ARGV[16], kind = ARGV[17], count = tonumber(ARGV[18]) }
else
    local hot = hot_from(found[8], found[9], found[10], KEYS[5])
    if later(target, hot) == target then return {'missing'} end
    return {'far', found[2]}
end
if said.kind == CONTROL then return {'control'} end
local role = member and string.match(member, '^%d+')
local rules = privileged or (found[3] == GROUP and (role == OWNER or role == ADMIN))
if not rules then
    if said.sender ~= actor then return {'other'} end
    if later(target, ARGV[8]) ~= target then return {'late'} end
end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end

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
local by = rules and (privileged and '0' or role) or '3'
redis.call('XADD', KEYS[2], '*', 'v', string.format('v\n%d\n%d\n%s\n%s\n%s\n%s\n%s\n%d\n%s\n%s\n%s\n%d\n', x_ms, x_low,
    ARGV[4], head.cid, target, '1', control, said.count, said.sender, actor, by, wall_ms() + TIME_ZERO) .. ARGV[12])
redis.call('HSET', revisions, target, string.format('%s %d %s', control, head.seq, logged))

-- What was taken back counts for nobody: neither as unread, nor as the sender's own.
local recalled = recalled_of(KEYS[5])
if said.count > 0 and not redis.call('ZSCORE', recalled, target) then
    redis.call('ZADD', recalled, said.count, target)
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
    note_all(for_members('s', KEYS[4]), ARGV[4], version, ARGV[15], ARGV[14], others)
end
if head.new_front then redis.call('HSET', KEYS[3], 'front', head.new_front) end
if found[11] == target then redis.call('HSET', KEYS[3], 'last_summary', '', 'shown_status', 1) end
redis.call('HSET', KEYS[3], 'seq', head.seq, 'count', head.count, 'epoch', clock.epoch, 'last', head.last, 'logged', logged,
    'update_time', ms + TIME_ZERO, 'version', version, 'placed', version, 'revision_version', version)
save(clock)
count_waiting(KEYS[1], string.match(ARGV[4], '^[^/]+'), 1)
stay_hot({ KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] })
local out = {'ok', control, head.seq, entry and 1 or 0}
tell(out, version, others)
return out
