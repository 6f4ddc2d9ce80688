-- Begins the adoption of a server's partitions by this run of it. Whoever comes second gets the same
-- token, so that SQL is asked once.
--
-- KEYS  1 adoption, 2 node, then the partitions' clocks
-- ARGV  1 run, 2 token, 3 which server of how many this is to be
-- Gives {"other", what it is}; {"done"}: all are adopted; or {"ok", token, then for each partition: run it was adopted for (""
--       never), ms, n}.
local node = redis.call('GET', KEYS[2])
if node and node ~= ARGV[3] then return {'other', node} end
local adopted, out = true, {}
for k = 3, #KEYS do
    local clock = redis.call('HMGET', KEYS[k], 'run', 'ms', 'n', 'also')
    adopted = adopted and (clock[1] == ARGV[1] or clock[4] == ARGV[1])
    out[#out + 1] = clock[1] or ''
    out[#out + 1] = clock[2] or 0
    out[#out + 1] = clock[3] or 0
end
if adopted then return {'done'} end
local pending = redis.call('HMGET', KEYS[1], 'run', 'token')
local token = pending[2]
if id_of(pending[1]) ~= id_of(ARGV[1]) then
    token = ARGV[2]
    redis.call('HSET', KEYS[1], 'run', ARGV[1], 'token', token)
end
return { 'ok', token, unpack(out) }
