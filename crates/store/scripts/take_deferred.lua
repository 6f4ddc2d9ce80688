-- Takes a conversation of which messages were kept by defer.lua; nobody else does for some time.
--
-- KEYS  1 a clock of the server, 2 queue
-- ARGV  1 run, 2 that time (ms)
-- Gives {"verify"}; {"none"}; or {"ok", "tenant/conversation", cid, its messages as wake.lua takes them}.
local LOOKS_MAX = 100
if not clock_of(KEYS[1], ARGV[1]) then return {'verify'} end
local now = wall_ms() + TIME_ZERO
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, LOOKS_MAX)) do
    local partition, name = string.match(member, '^(%d+)/(.+)$')
    local kept = redis.call('HGET', 'im:{' .. partition .. '}:later', name)
    if kept then
        redis.call('ZADD', KEYS[2], now + tonumber(ARGV[2]), member)
        local cid, messages = string.match(kept, '^([^\n]+)\n(.*)$')
        return {'ok', name, cid, messages}
    end
    redis.call('ZREM', KEYS[2], member)
end
return {'none'}
