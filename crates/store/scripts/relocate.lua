-- Notes in which database a partition is.
--
-- KEYS  1 clock
-- ARGV  1 run, 2 position of the database, 3 position that is to be replaced ("" any)
-- Gives {"verify"} or {"ok"}; another position than that to be replaced is left as it is.
if not clock_of(KEYS[1], ARGV[1]) then return {'verify'} end
if ARGV[3] == '' or redis.call('HGET', KEYS[1], 'db') == ARGV[3] then redis.call('HSET', KEYS[1], 'db', ARGV[2]) end
return {'ok'}
