-- Moves a user's read position in a hot conversation.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 user, 6 stamp up to which the
--       user has read, 7 users of this server (see is_here), 8 life of an index (s); when SQL was asked: 9 the stamp from
--       which on messages are hot for which it was, 10 countable at 6, 11 countable messages of
--       the user's own above 6 and below 9 (all "" when it was not)
-- Gives {"verify"}; {"cold"}; {"stranger"}; {"ahead"}: beyond the newest message; {"far", cid, stamp from which
--       on messages are hot}: SQL has to be asked; {"long"}: too much was said since; {"backlog"}; or {"ok", what
--       tell() says}.
local SCAN_MAX = 20000
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[3], 'base', 'cid', 'count', 'last', 'hot', 'front')
if head[1] ~= clock.base then return {'cold'} end
local member = redis.call('HGET', KEYS[4], ARGV[5])
if not member then return {'stranger'} end
local up_to, last = ARGV[6], head[4]
if up_to ~= last and later(up_to, last) == up_to then return {'ahead'} end
local before, read_ms, read_low, muted, set_version =
    string.match(member, '^(%d+ %d+ %d+) (%d+) (%d+) %d+ %d+ (%d+) %d+ (%d+)$')
local read = read_ms .. '-' .. read_low
if later(read, up_to) == read then return {'ok', '0', 0, 0} end

local own = tonumber(redis.call('HGET', KEYS[6], ARGV[5]) or '0')
local count, own_since = tonumber(head[3]), 0
if up_to ~= last then
    local hot = hot_from(head[5], head[6], last, KEYS[5])
    local entry = redis.call('XREVRANGE', KEYS[5], up_to, '-', 'COUNT', 1)[1]
    if entry and later(up_to, hot) == up_to then
        count = tonumber(string.match(entry[2][2], '^%d+\n%d+\n(%d+)'))
    elseif ARGV[9] ~= hot then
        return {'far', head[2], hot}
    else
        count, own_since = tonumber(ARGV[10]), tonumber(ARGV[11])
    end
    local hot_own = own_after(ARGV[5], KEYS[5], up_to, SCAN_MAX)
    if not hot_own then return {'long'} end
    own_since = own_since + hot_own
end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end

-- A message of the user's own may have been taken back since SQL was asked.
local read_own = math.max(0, own - own_since)
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
