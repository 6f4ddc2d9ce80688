-- Moves a user's read position in a hot conversation.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 user, 6 stamp up to which the
--       user has read, 7 users of this server (see is_here), 8 life of an index (s); when SQL was asked: 9 the stamp from
--       which on messages are hot for which it was, 10 countable at 6, 11 countable messages of
--       the user's own above 6 and below 9, or, 12 when this is the read position, above it and up to 6 (all "" when it
--       was not); 13, 14 of a call that was cut off: own messages and stamp ("" else)
-- Gives {"verify"}; {"cold"}; {"stranger"}; {"ahead"}: beyond the newest message; {"far", cid, stamp from which
--       on messages are hot, read position, countable at it, countable messages and those of the user's own since}: SQL
--       has to be asked; {"long", own messages that count, stamp up to which}: very much was said since, to be called
--       again; {"backlog"}; or {"ok", what tell() says}.
local SCAN_MAX = 10000
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[3], 'base', 'cid', 'count', 'last', 'hot', 'front')
if head[1] ~= clock.base then return {'cold'} end
local member = redis.call('HGET', KEYS[4], ARGV[5])
if not member then return {'stranger'} end
local up_to, last = ARGV[6], head[4]
if up_to ~= last and later(up_to, last) == up_to then return {'ahead'} end
local before, read_ms, read_low, read_count, read_own, muted, set_version =
    string.match(member, '^(%d+ %d+ %d+) (%d+) (%d+) (%d+) (%d+) (%d+) %d+ (%d+)$')
local read = read_ms .. '-' .. read_low
if later(read, up_to) == read then return tell_nothing({'ok'}) end

local own = tonumber(redis.call('HGET', KEYS[6], ARGV[5]) or '0')
local own_since_read = math.max(0, own - tonumber(read_own))
local count, own_since, own_passed = tonumber(head[3]), 0, nil
if up_to ~= last then
    local hot = hot_from(head[5], head[6], last, KEYS[5])
    local entry = redis.call('XREVRANGE', KEYS[5], up_to, '-', 'COUNT', 1)[1]
    if entry and later(up_to, hot) == up_to then
        count = tonumber(string.match(entry[2][2], '^%d+\n%d+\n(%d+)'))
    elseif ARGV[9] ~= hot or (ARGV[12] ~= '' and ARGV[12] ~= read) then
        return {'far', head[2], hot, read, read_count, count - tonumber(read_count), own_since_read}
    else
        count, own_since = tonumber(ARGV[10]), tonumber(ARGV[11])
        if ARGV[12] ~= '' then own_passed = own_since end
    end
    -- Who has said nothing since has said nothing after what is read now.
    if own_since_read > 0 and not own_passed then
        local from = ARGV[14] ~= '' and ARGV[14] or up_to
        local hot_own, cut = own_after(ARGV[5], KEYS[5], from, SCAN_MAX)
        hot_own = hot_own + tonumber(ARGV[13])
        if cut then return {'long', hot_own, cut} end
        own_since = own_since + hot_own
    end
end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end

-- A message of the user's own may have been taken back since SQL was asked.
read_own = own_passed and math.min(own, read_own + own_passed) or math.max(0, own - own_since)
local version, up_ms, up_low = next_version(), split(up_to)
redis.call('HSET', KEYS[4], ARGV[5], string.format('%s %d %d %d %d %s %s %s', before, up_ms, up_low, count,
    read_own, muted, version, set_version))
local ms, low = tick(clock, tonumber(ARGV[2]))
redis.call('XADD', KEYS[2], '*', 'v', string.format('k\n%d\n%d\n%s\n%s\n%s\n%s\n%d\n%d\n%s\n', ms, low, ARGV[4],
    head[2], ARGV[5], up_to, count, read_own, version))
redis.call('HSET', KEYS[3], 'logged', stamp_of(ms, low))
save(clock)
stay_hot({ KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] })
local out, others = {'ok'}, {}
note_all({ 'o', ARGV[5] }, ARGV[4], version, ARGV[8], ARGV[7], others)
tell(out, version, others)
return out
