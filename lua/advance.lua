-- Stores how far a consumer has got in an outbox, if the process that says so still owns the partition.
-- Atomic, because the token must be the owner's at the moment the cursor moves; and the lowest cursor bounds what is trimmed.
-- KEYS [1] owner: hash, [2] cursors: hash of consumers, [3] generation: hash, [4] outbox: stream
-- ARGV [1] token, [2] name of the consumer, [3] id of the last finished entry
-- RETURNS integer, 1 if it was stored; 0 if the token is an older one; -1 if the outbox has no such entry: it was lost with the primary that it was read from
-- COST O(n) of consumers
-- MODE writes
local owner, cursors, generation, outbox, token, name, entry = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2], ARGV[3]
if redis.call('HGET', owner, 'token') ~= token then return 0 end
if entry ~= '0-0' and #redis.call('XRANGE', outbox, entry, entry) == 0 then return -1 end
redis.call('HSET', cursors, name, entry)
local function isBefore (id, other)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  local otherMs, otherN = string.match(other, '^(%d+)-(%d+)$')
  if ms ~= otherMs then return tonumber(ms) < tonumber(otherMs) end
  return tonumber(n) < tonumber(otherN)
end
local least = entry
for _, id in ipairs(redis.call('HVALS', cursors)) do
  if isBefore(id, least) then least = id end
end
redis.call('HSET', generation, 'finished', least)
return 1
