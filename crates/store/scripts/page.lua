-- Reads a page of a hot conversation, with what a reader has to know of it.
--
-- KEYS  1 clock, 2 head, 3 members, 4 messages
-- ARGV  1 run, 2 user, 3 "up" | "down", 4 stamp that all messages are above, 5 stamp that they are
--       below ("+": none), 6 messages, 7 kinds ("" all, or ",1,2,"), 8 times (see expired_of)
-- Gives {"verify"}; {"cold"}; {"stranger"}; or {"ok", epoch, cid, stamp up to which the reader sees nothing, seq, last, hot,
--       scanned, then for each message what take() says}.
--       Messages at or above "hot" are all in the stream. scanned: "" or the stamp at which a search
--       behind others was cut off.
local clock = clock_of(KEYS[1], ARGV[1])
if not clock then return {'verify'} end
local head = redis.call('HMGET', KEYS[2], 'base', 'cid', 'history', 'seq', 'last', 'hot', 'front', 'kind', 'keep',
    'hold')
if head[1] ~= clock.base then return {'cold'} end
local member = redis.call('HGET', KEYS[3], ARGV[2])
if not member then return {'stranger'} end

local floor = floor_of(head[3], member, expired_of(ARGV[8], head[8], head[9], head[10]))
local out = {'ok', clock.epoch, head[2], floor, head[4], head[5], hot_from(head[6], head[7], head[5], KEYS[4]), ''}
local SCANNED = #out
local above = later(floor, ARGV[4])
out[SCANNED] = take_range(out, KEYS[4], ARGV[2], ARGV[3] == 'up', above, ARGV[5], tonumber(ARGV[6]), ARGV[7])
return out
