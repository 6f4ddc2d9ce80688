-- Reads where conversations stand in a user's list.
--
-- KEYS  for each conversation: clock, head, members
-- ARGV  1 run, 2 user
-- Gives {"verify"}; or {"ok", then for each conversation the stamp of the newest thing in it, "@" and the
--       position of its database when it is not hot ("?" instead of "@": it is hot from before a loss),
--       or "-" when the user is no member}.
local out = {'ok'}
for k = 1, #KEYS, 3 do
    local clock = clock_of(KEYS[k], ARGV[1])
    if not clock then return {'verify'} end
    local head = redis.call('HMGET', KEYS[k + 1], 'base', 'last', 'cid')
    if head[1] ~= clock.base then
        out[#out + 1] = (head[1] and '?' or '@') .. redis.call('HGET', KEYS[k], 'db')
    else
        local newest = head[2] ~= '0-0' and head[2] or head[3]
        out[#out + 1] = redis.call('HEXISTS', KEYS[k + 2], ARGV[2]) == 1 and newest or '-'
    end
end
return out
