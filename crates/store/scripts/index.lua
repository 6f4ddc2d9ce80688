-- Adds conversations to users' indexes. Nothing is ever taken out: readers look at the members.
--
-- KEYS  indexes
-- ARGV  1 life (s), 2 run when the one index is then complete ("" otherwise), then the names
--       "tenant/conversation" that each index is to hold
-- Gives {"ok"}.
for _, key in ipairs(KEYS) do
    for a = 3, #ARGV do redis.call('SADD', key, ARGV[a]) end
    if ARGV[2] ~= '' then redis.call('SADD', key, '#' .. ARGV[2]) end
    redis.call('EXPIRE', key, ARGV[1])
end
return {'ok'}
