-- Drops what a user has said, and what was done to it, from the dead letters of a partition.
--
-- KEYS  1 dead letters
-- ARGV  1 tenant, 2 user, 3 letters looked at
-- Gives {"ok", letters dropped}.
local HEADER = '^m\n%d+\n%d+\n([^/\n]+)/[^\n]+\n[^\n]+\n[^\n]*\n%d+\n%d+\n()'
local REVISION = '^[ve]\n%d+\n%d+\n([^/\n]+)/[^\n]+\n[^\n]+\n[^\n]+\n%d+\n[^\n]+\n%d+\n([^\n]+)\n([^\n]+)\n'

local function is_of_user(value)
    local tenant, start = string.match(value, HEADER)
    if tenant then
        local length = string.byte(value, start + SENDER - 1) or 0
        return tenant == ARGV[1] and string.sub(value, start + SENDER + 3, start + SENDER + 2 + length) == ARGV[2]
    end
    local other, sender, actor = string.match(value, REVISION)
    return other == ARGV[1] and (sender == ARGV[2] or actor == ARGV[2])
end

local dropped = 0
for _, letter in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[3])) do
    for i = 1, #letter[2], 2 do
        if letter[2][i] == 'v' and is_of_user(within(letter[2][i + 1])) then
            dropped = dropped + redis.call('XDEL', KEYS[1], letter[1])
        end
    end
end
return {'ok', dropped}
