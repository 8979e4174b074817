-- Removes the oldest ids of a partition with their item keys: of the given ids, those that are still the oldest and not live.
-- Atomic, because a newer version may arrive between the check and the removal.
-- KEYS [1] ids: sorted set, [2..n+1] item keys: strings, in the order of the ids; all of one slot
-- ARGV [1] ts before which items are not live: ms, 0 = no age limit, [2] ids kept: integer, 0 = no limit, [3..n+2] ids, oldest first: bytes; n from 1 to 500
-- RETURNS integer, ids removed
-- COST O(log N + n)
-- MODE writes
local ids, minTs, kept, n = KEYS[1], ARGV[1], tonumber(ARGV[2]), #KEYS - 1
local dead = redis.call('ZCOUNT', ids, '-inf', '(' .. minTs)
if kept > 0 then dead = math.max(dead, redis.call('ZCARD', ids) - kept) end
if dead == 0 then return 0 end
local given, keys = {}, {}
for i = 1, n do given[ARGV[i + 2]] = KEYS[i + 1] end
for i, member in ipairs(redis.call('ZRANGE', ids, 0, math.min(dead, n) - 1)) do
  keys[i] = given[member]
  if not keys[i] then break end
end
if #keys == 0 then return 0 end
redis.call('UNLINK', unpack(keys))
return redis.call('ZREMRANGEBYRANK', ids, 0, #keys - 1)
