-- Adds conversations to a user's index, and makes it complete, unless it is.
--
-- KEYS  1 index, 2 other changes
-- ARGV  1 life (s), 2 run when it is then complete ("" otherwise), then for each conversation: its name, a
--       number by which it stands among the others ("+inf": it is looked up)
-- Gives {"ok"}.
for a = 3, #ARGV, 2 do redis.call('ZADD', KEYS[1], 'GT', ARGV[a + 1], ARGV[a]) end
-- Where another call has made it complete meanwhile, devices hold its numbers already.
if ARGV[2] ~= '' and not redis.call('ZSCORE', KEYS[1], '#' .. ARGV[2]) then
    -- In their order the entries get numbers of their own, above that from which on the index is complete:
    -- what a device has asked before tells nothing about it.
    local entries = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(+inf')
    local since = next_version()
    local version = tonumber(since)
    local other
    for _, name in ipairs(entries) do
        if string.sub(name, 1, 1) == '#' then
            -- Of other lists of servers in use the latest is kept, and none of an earlier run.
            if other then redis.call('ZREM', KEYS[1], other) end
            other = name
        else
            version = version + 1
            redis.call('ZADD', KEYS[1], string.format('%.0f', version), name)
        end
    end
    if other and id_of(other) ~= '#' .. id_of(ARGV[2]) then redis.call('ZREM', KEYS[1], other) end
    redis.call('SET', CHANGES, string.format('%.0f', version))
    redis.call('ZADD', KEYS[1], since, '#' .. ARGV[2])
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[1])
return {'ok'}
