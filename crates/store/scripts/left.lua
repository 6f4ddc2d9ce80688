-- Names the conversations of a user in which something else than what was said has changed: among them are
-- all that the user has left.
--
-- KEYS  1 other changes
-- Gives {"ok", conversations}.
local out = {'ok'}
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do out[#out + 1] = name end
return out
