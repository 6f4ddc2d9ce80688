-- Drops what a user has said or done, and what was done to what the user has said, from the dead letters of a partition:
-- all that is of no conversation, and that of some conversations, unless they are held.
--
-- KEYS  1 clock, 2 dead letters, then the heads of those conversations
-- ARGV  1 run, 2 tenant, 3 user, 4 letters looked at, then the conversations: "tenant/conversation" each
-- Gives {"verify"}; or {"ok", the conversations of which such letters are left}.
local FIXED = 4
local MESSAGE = '^m\n%d+\n%d+\n([^\n]+)\n[^\n]+\n[^\n]*\n%d+\n%d+\n()'
local REVISION = '^[ve]\n%d+\n%d+\n([^\n]+)\n[^\n]+\n[^\n]+\n%d+\n[^\n]+\n%d+\n([^\n]+)\n([^\n]+)\n'
local OWN = '^[pkhf]\n%d+\n%d+\n([^\n]+)\n[^\n]+\n([^\n]+)\n'
local USER = '^[dxw]\n%d+\n%d+\n([^\n]+)\n'
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local tenant, user = ARGV[2] .. '/', ARGV[3]

-- The conversation of an entry of the user, or '' when it is of none; nil of others.
local function whose(value)
    local name, start = string.match(value, MESSAGE)
    if name then
        local length = string.byte(value, start + SENDER - 1) or 0
        local sender = string.sub(value, start + SENDER + 3, start + SENDER + 2 + length)
        return sender == user and name or nil
    end
    local revised, sender, actor = string.match(value, REVISION)
    if revised then return (sender == user or actor == user) and revised or nil end
    local place, owner = string.match(value, OWN)
    if place then return owner == user and place or nil end
    return string.match(value, USER) == tenant .. user and '' or nil
end

local may_go = { [''] = true }
for i = FIXED + 1, #ARGV do
    local head = redis.call('HMGET', KEYS[2 + i - FIXED], 'base', 'hold')
    may_go[ARGV[i]] = not (head[1] == clock.base and head[2] == '1')
end
local out, told = {'ok'}, {}
for _, letter in ipairs(redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', ARGV[4])) do
    for i = 1, #letter[2], 2 do
        local name = letter[2][i] == 'v' and whose(within(letter[2][i + 1]))
        if name and (name == '' or string.sub(name, 1, #tenant) == tenant) then
            if may_go[name] then
                redis.call('XDEL', KEYS[2], letter[1])
            elseif not told[name] then
                told[name], out[#out + 1] = true, name
            end
        end
    end
end
return out
