-- Forgets how far a device has got in conversations: it starts anew, hot and, once the log is there, in SQL.
--
-- KEYS  for each conversation: clock, log, head, members, messages, own, positions
-- ARGV  1 run, 2 backlog max (entries), 3 user, 4 device; then for each conversation: partition,
--       "tenant/conversation", 1: SQL has a position of the device (0: it has none, or only in the log)
-- Gives {"verify"}, {"backlog"}: some may be done; or {"ok", then for each conversation 1 if it has to be made
--       hot first, or 0}. It can be repeated.
local PER_CONVERSATION, PER_ITEM, FIXED = 7, 3, 4
local START = '0-0 0'
local field, out = ARGV[3] .. '/' .. ARGV[4], {'ok'}
for i = 1, #KEYS / PER_CONVERSATION do
    local k, a = (i - 1) * PER_CONVERSATION, FIXED + (i - 1) * PER_ITEM
    local clock = clock_of(KEYS[k + 1], ARGV[1])
    if not clock then return {'verify'} end
    local head = redis.call('HMGET', KEYS[k + 3], 'base', 'cid')
    local position, in_sql = redis.call('HGET', KEYS[k + 7], field), ARGV[a + 3] == '1'
    local is_hot = head[1] == clock.base
    if is_hot and (in_sql or (position and position ~= START)) then
        if redis.call('XLEN', KEYS[k + 2]) >= tonumber(ARGV[2]) then return {'backlog'} end
        -- It stays, so that SQL is not asked for it before SQL has forgotten it.
        redis.call('HSET', KEYS[k + 7], field, START)
        local ms, low = tick(clock, tonumber(ARGV[a + 1]))
        redis.call('XADD', KEYS[k + 2], '*', 'v', string.format('f\n%d\n%d\n%s\n%s\n%s\n%s\n', ms, low, ARGV[a + 2],
            head[2], ARGV[3], ARGV[4]))
        redis.call('HSET', KEYS[k + 3], 'logged', stamp_of(ms, low))
        save(clock)
        stay_hot({ KEYS[k + 3], KEYS[k + 4], KEYS[k + 5], KEYS[k + 6], KEYS[k + 7] })
    end
    -- State from before a loss may stand for positions that are in the log alone.
    out[#out + 1] = not is_hot and (in_sql or head[1]) and 1 or 0
end
return out
