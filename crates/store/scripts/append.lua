-- Appends messages of one partition: id and seq are given here, in the order of the items.
--
-- KEYS  1 clock, 2 log; for each conversation: head, members, messages, own, positions; for each
--       item: its idempotency marker
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 life of a marker (s), 5 seq gap of a new epoch,
--       6 privileged (0|1), 7 times (see expired_of), 8 conversations, 9 items,
--       10 most members of which each is told, 11 users of this server (see is_here), 12 life of an index (s);
--       for each conversation: "tenant/conversation";
--       for each item: conversation (1..), sender, fingerprint, countable (0|1), kind, reply (""
--       none, or a stamp), quoted (1: the quoted message is known to exist), copy (0:
--       the marker decides, 1: SQL may have an earlier copy, 2: SQL has none), record, summary
-- Gives {"verify"}: the clock has to be adopted first; {"backlog"}: SQL is too far behind; or
--       {"ok", epoch, then for each item: code, ms, low, seq}. Codes: 0 stored, 1 duplicate,
--       2 conflict, 3 conversation not hot, 4 not a member, 5 may not write, 6 the quoted message is
--       not hot, 7 there is no such message to quote, 8 SQL has to be asked for an earlier copy, 9 an
--       earlier item of the conversation has to be decided first (3, 6, 8). After the items, for each
--       conversation in which something was stored and that has members elsewhere: its number (1..),
--       and what tell() says.
local PER_CONVERSATION, PER_ITEM, FIXED = 5, 10, 12
local SYSTEM = '3'

local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end

local partition, conversations, items = tonumber(ARGV[2]), tonumber(ARGV[8]), tonumber(ARGV[9])
local heads, out, stored = {}, {'ok', clock.epoch}, 0
-- After a loss markers may be missing whose messages SQL has.
local doubt = redis.call('HGET', KEYS[1], 'doubt')
local in_doubt = doubt and wall_ms() < tonumber(doubt)

local function head_of(c)
    if heads[c] == nil then
        local k = 2 + (c - 1) * PER_CONVERSATION
        local found = redis.call('HMGET', KEYS[k + 1], 'base', 'cid', 'kind', 'history', 'seq', 'count', 'epoch', 'hot',
            'front', 'last', 'keep', 'hold')
        heads[c] = found[1] == clock.base and {
            cid = found[2], kind = found[3], history = found[4], seq = tonumber(found[5]),
            count = tonumber(found[6]), epoch = found[7], hot = found[8], front = found[9], last = found[10],
            keep = found[11], hold = found[12],
            name = ARGV[FIXED + c], number = c,
            key = KEYS[k + 1], members = KEYS[k + 2], messages = KEYS[k + 3], own = KEYS[k + 4], positions = KEYS[k + 5],
        }
    end
    return heads[c]
end

local function answer(code, ms, low, seq)
    out[#out + 1] = code
    out[#out + 1] = ms or 0
    out[#out + 1] = low or 0
    out[#out + 1] = seq or 0
end

-- 0: the quoted message is there; otherwise the code to answer.
local function reply_state(head, member, reply, is_known)
    if reply == '' or is_known == '1' then return 0 end
    local floor = floor_of(head.history, member, expired_of(ARGV[7], head.kind, head.keep, head.hold))
    if later(floor, reply) == floor then return 7 end
    if #redis.call('XRANGE', head.messages, reply, reply) > 0 then return 0 end
    local hot = hot_from(head.hot, head.new_front or head.front, head.last, head.messages)
    return later(reply, hot) == reply and 7 or 6
end

local function store(head, a, marker)
    local ms, low = put(clock, partition, KEYS[2], tonumber(ARGV[5]), head, {
        sender = ARGV[a + 2], counts = ARGV[a + 4] == '1', kind = ARGV[a + 5], reply = ARGV[a + 6], record = ARGV[a + 9],
    })
    redis.call('SET', marker, string.format('%d %d %d ', ms, low, head.seq) .. ARGV[a + 3], 'EX', ARGV[4])
    head.ms, head.said = ms, { ARGV[a + 2], ARGV[a + 5], ARGV[a + 10] }
    stored = stored + 1
    answer(0, ms, low, head.seq)
end

for i = 1, items do
    local a = FIXED + conversations + (i - 1) * PER_ITEM
    local head = head_of(tonumber(ARGV[a + 1]))
    local member = head and redis.call('HGET', head.members, ARGV[a + 2])
    if not head then
        answer(3)
    elseif not member then
        answer(4)
    elseif head.kind == SYSTEM and ARGV[6] == '0' then
        answer(5)
    else
        local marker = KEYS[2 + conversations * PER_CONVERSATION + i]
        local earlier = redis.call('GET', marker)
        if earlier then
            local ms, low, seq, print = string.match(earlier, '^(%d+) (%d+) (%d+) (.*)$')
            if print == ARGV[a + 3] then
                answer(1, tonumber(ms), tonumber(low), tonumber(seq))
            else
                answer(2)
            end
        else
            local code = reply_state(head, member, ARGV[a + 6], ARGV[a + 7])
            if ARGV[a + 8] == '1' or (in_doubt and ARGV[a + 8] == '0') then code = 8 end
            -- What SQL has to be asked is found out for all items at once.
            if code == 0 and head.waits then code = 9 end
            head.waits = head.waits or code == 6 or code == 8
            if code > 0 then answer(code) else store(head, a, marker) end
        end
    end
end

if stored > 0 then
    save(clock)
    count_waiting(KEYS[1], string.match(ARGV[FIXED + 1], '^[^/]+'), stored)
    for _, head in pairs(heads) do
        if head.ms then
            local last, version, others = head.last, next_version(), {}
            if redis.call('HLEN', head.members) <= tonumber(ARGV[10]) then
                note_all(for_members('s', head.members), head.name, version, ARGV[12], ARGV[11], others)
            end
            if #others > 0 then
                out[#out + 1] = head.number
                tell(out, version, others)
            end
            if head.new_front then redis.call('HSET', head.key, 'front', head.new_front) end
            redis.call('HSET', head.key, 'seq', head.seq, 'count', head.count, 'epoch', clock.epoch,
                'last', last, 'logged', last, 'shown', last, 'shown_seq', head.seq, 'shown_status', 0, 'last_sender', head.said[1],
                'last_kind', head.said[2], 'last_summary', head.said[3], 'update_time', head.ms + TIME_ZERO,
                'version', version, 'placed', version)
            stay_hot({ head.key, head.members, head.messages, head.own, head.positions })
        end
    end
end
return out
