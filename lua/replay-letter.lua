-- Puts a dead letter back into the outbox of its partition, unless that was done.
-- Atomic, because of two who replay it at once only one may.
-- KEYS [1] dead letters: stream, [2] outbox: stream, [3] generation: hash
-- ARGV [1] id of the letter
-- RETURNS integer, 1 if it was there
-- COST O(1)
-- MODE writes
local dead, outbox, generation, id = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local letter = redis.call('XRANGE', dead, id, id)[1]
if not letter then return 0 end
local fields = {}
for i = 1, #letter[2], 2 do fields[letter[2][i]] = letter[2][i + 1] end
-- @include clock
-- ids follow the clock of the partition, as those of decisions do
if now > last then redis.call('HSET', generation, 'now', string.format('%.0f', now)) end
-- the letter goes once the entry is there; an outbox that is ahead of the clock is continued behind its last id
local newest = redis.call('XREVRANGE', outbox, '+', '-', 'COUNT', 1)[1]
local ms = math.max(now, last) + back
if newest then ms = math.max(ms, tonumber(string.match(newest[1], '^%d+'))) end
redis.call('XADD', outbox, string.format('%.0f-*', ms), unpack(cjson.decode(fields.fields)))
redis.call('XDEL', dead, id)
return 1
