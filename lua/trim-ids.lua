-- Removes the given ids of a partition with their item keys, but only those that nobody has written since they were read.
-- Atomic, because a newer version may arrive between the look and the removal.
-- KEYS [1] ids: sorted set, [2..n+1] item keys: strings, in the order of the ids; all of one slot
-- ARGV [1..n] ids: bytes, [n+1..2n] their scores: numbers as the server printed them; n from 1 to 500
-- RETURNS integer, how many were removed
-- COST O(n log N)
-- MODE writes
local ids, n = KEYS[1], #KEYS - 1
local scores = redis.call('ZMSCORE', ids, unpack(ARGV, 1, n))
local gone, keys = {}, {}
for i = 1, n do
  if scores[i] and tonumber(scores[i]) == tonumber(ARGV[n + i]) then
    gone[#gone + 1] = ARGV[i]
    keys[#keys + 1] = KEYS[i + 1]
  end
end
if #gone == 0 then return 0 end
redis.call('UNLINK', unpack(keys))
return redis.call('ZREM', ids, unpack(gone))
