-- Hides messages of a hot conversation from one of its members.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 user, 6 times (see expired_of),
--       7 users of this server (see is_here), 8 life of an index (s), 9 messages that may be hidden in
--       addition, 10 whether what is neither hot nor known to SQL is missing (0|1); then for each message: its stamp,
--       and what SQL knows of it: kind ("": nothing), 1 when it counts (0), sender, 1 when it is hidden (0)
-- Gives {"verify"}, {"cold"}, {"stranger"}, {"far"}: SQL has to be asked, {"backlog"}; or {"ok", for each message its
--       code, 1 when one is hidden now that is not hot, what tell() says}. Codes: 0 it is hidden, 1 there is no such
--       message, 2 it is a control message, 3 no more can be hidden.
local PER_MESSAGE, FIXED = 5, 10
local CONTROL = '7'
local HIDDEN, MISSING, UNHIDABLE, TOO_MANY = 0, 1, 2, 3
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[3], 'base', 'cid', 'history', 'hot', 'front', 'last', 'kind', 'keep', 'hold')
if head[1] ~= clock.base then return {'cold'} end
local user, room = ARGV[5], tonumber(ARGV[9])
local member = redis.call('HGET', KEYS[4], user)
if not member then return {'stranger'} end
local floor = floor_of(head[3], member, expired_of(ARGV[6], head[7], head[8], head[9]))
local is_hidden = hidden_from(user, KEYS[5])
local hot = hot_from(head[4], head[5], head[6], KEYS[5])

-- What a message is: its kind and whether it would be unread for the user, and whether it is hot; or nil, and
-- whether SQL has to be asked.
local function look(a)
    local entry = redis.call('XRANGE', KEYS[5], ARGV[a + 1], ARGV[a + 1])[1]
    if entry then
        local said = read_value(entry[2][2])
        return said.kind, not said.is_silent and said.sender ~= user, true
    end
    if ARGV[a + 2] ~= '' then return ARGV[a + 2], ARGV[a + 3] == '1' and ARGV[a + 4] ~= user, false end
    return nil, later(ARGV[a + 1], hot) ~= ARGV[a + 1] and ARGV[10] == '0'
end

local codes, names, lines, seen, is_cold = {}, {}, {}, {}, 0
for i = 1, (#ARGV - FIXED) / PER_MESSAGE do
    local a = FIXED + (i - 1) * PER_MESSAGE
    local id, code = ARGV[a + 1], MISSING
    if later(floor, id) ~= floor then
        local kind, counts, is_hot = look(a)
        if not kind and counts then return {'far'} end
        if kind == CONTROL then
            code = UNHIDABLE
        elseif kind and (seen[id] or ARGV[a + 5] == '1' or is_hidden and is_hidden(id)) then
            code = HIDDEN
        elseif kind and room <= 0 then
            code = TOO_MANY
        elseif kind then
            code, room, seen[id] = HIDDEN, room - 1, true
            names[#names + 1] = hidden_name(user, counts and 'c' or 's', id)
            lines[#lines + 1] = id .. (counts and ' 1\n' or ' 0\n')
            if not is_hot then is_cold = 1 end
        end
    end
    codes[i] = code
end

local out = {'ok'}
for _, code in ipairs(codes) do out[#out + 1] = code end
out[#out + 1] = is_cold
if #names == 0 then return tell_nothing(out) end
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
local version = next_version()
local ms, low = tick(clock, tonumber(ARGV[2]))
local logged = stamp_of(ms, low)
for _, name in ipairs(names) do redis.call('ZADD', hidden_of(KEYS[5]), 0, name) end
redis.call('XADD', KEYS[2], '*', 'v', string.format('h\n%d\n%d\n%s\n%s\n%s\n%s\n', ms, low, ARGV[4], head[2], user,
    version) .. table.concat(lines))
redis.call('HSET', KEYS[3], 'logged', logged, 'hidden_logged', logged, 'hidden/' .. user, version)
save(clock)
stay_hot({ KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] })
local others = {}
note_all({ 'o', user }, ARGV[4], version, ARGV[8], ARGV[7], others)
tell(out, version, others)
return out
