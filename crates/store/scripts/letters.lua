-- Reads dead letters of a partition, oldest first.
--
-- KEYS  1 dead letters
-- ARGV  1 letters
-- Gives for each letter: id, error, start of the entry's value ("" when it has none).
local START_BYTES = 512
local out = {}
for _, letter in ipairs(redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])) do
    local fields = {}
    for i = 1, #letter[2], 2 do fields[letter[2][i]] = letter[2][i + 1] end
    out[#out + 1] = letter[1]
    out[#out + 1] = fields.error or ''
    out[#out + 1] = string.sub(fields.v or '', 1, START_BYTES)
end
return out
