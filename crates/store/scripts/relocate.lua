-- Notes in which databases partitions are.
--
-- KEYS  the partitions' clocks
-- ARGV  1 run, 2 position that is to be replaced ("" any); then for each partition the position of its
--       database
-- Gives {"verify"} or {"ok"}; another position than that to be replaced is left as it is.
if not clock_of(KEYS[1], ARGV[1]) then return {'verify'} end
for i, key in ipairs(KEYS) do
    if ARGV[2] == '' or redis.call('HGET', key, 'db') == ARGV[2] then redis.call('HSET', key, 'db', ARGV[2 + i]) end
end
return {'ok'}
