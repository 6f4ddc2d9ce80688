-- Reads on for a device of a hot conversation, and moves its position to what it confirms.
--
-- KEYS  1 clock, 2 log, 3 head, 4 members, 5 messages, 6 own, 7 positions
-- ARGV  1 run, 2 partition, 3 backlog max (entries), 4 "tenant/conversation", 5 user, 6 device, 7 epoch the
--       device presents ("" none), 8 stamp that it confirms ("" none), 9 times (see expired_of),
--       10 messages
-- Gives {"verify"}; {"cold"}; {"stranger"}; {"unplaced"}: SQL has to be asked for the
--       device's position first; {"backlog"}; or what page.lua gives with, after scanned, five more
--       values before the messages: reset ("", "epoch" or "ahead"), position after the call, position
--       before it, its seq (0 unknown), seq of the newest hot message up to where the device reads
--       on (0 none).
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[3], 'base', 'cid', 'history', 'seq', 'last', 'hot', 'whole', 'front', 'kind',
    'keep', 'hold')
if head[1] ~= clock.base then return {'cold'} end
local member = redis.call('HGET', KEYS[4], ARGV[5])
if not member then return {'stranger'} end
local field = ARGV[5] .. '/' .. ARGV[6]
local known = redis.call('HGET', KEYS[7], field)
if not known and head[7] ~= '1' then return {'unplaced'} end

local position, position_seq = '0-0', 0
if known then
    local stamp, seq = string.match(known, '^(%S+) (%d+)$')
    position, position_seq = stamp, tonumber(seq)
end
local start = ARGV[8] ~= '' and ARGV[8] or position
local last = head[5]
local reset = ''
if ARGV[7] ~= '' and ARGV[7] ~= clock.epoch then
    reset = 'epoch'
elseif later(last, start) ~= last and start ~= '0-0' then
    reset = 'ahead'
end
local start_seq = 0
if start ~= '0-0' then
    local entry = redis.call('XREVRANGE', KEYS[5], start, '-', 'COUNT', 1)[1]
    if entry then start_seq = tonumber(string.match(entry[2][2], '^%d+\n(%d+)')) end
end

local before, before_seq = position, position_seq
if reset == '' and start ~= position and later(start, position) == start then
    if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[3]) then return {'backlog'} end
    position = start
    redis.call('HSET', KEYS[7], field, string.format('%s %d', start, start_seq))
    local ms, low = tick(clock, tonumber(ARGV[2]))
    redis.call('XADD', KEYS[2], '*', 'v', string.format('p\n%d\n%d\n%s\n%s\n%s\n%s\n%s\n%d\n', ms, low, ARGV[4],
        head[2], ARGV[5], ARGV[6], start, start_seq))
    redis.call('HSET', KEYS[3], 'logged', stamp_of(ms, low))
    save(clock)
    stay_hot({ KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7] })
end

local hot = hot_from(head[6], head[8], last, KEYS[5])
local floor = floor_of(head[3], member, expired_of(ARGV[9], head[9], head[10], head[11]))
local out = {'ok', clock.epoch, head[2], floor, head[4], last, hot, ''}
local SCANNED = #out
for _, fact in ipairs({ reset, position, before, before_seq, start_seq }) do out[#out + 1] = fact end
if reset ~= '' then return out end
out[SCANNED] = take_range(out, KEYS[5], ARGV[5], false, later(start, floor), '+', tonumber(ARGV[10]), '')
return out
