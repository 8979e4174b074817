-- Puts back the scores that ZADD stored in a transaction whose MSETEX or SET was refused: its permission was revoked after it was queued.
-- Atomic, because it is a part of that transaction: no reader may see a score without its value.
-- KEYS [1] ids: sorted set, [2] key of the last item: string; of the same slot
-- ARGV [1] first 8 bytes of the last item's record, [2] lowest score of the transaction: all members from there on are its own, [3] what item keys begin with: they are of the same slot, and needed after a refusal only
-- RETURNS integer, scores put back; 0 = all values are stored
-- COST O(1); after a refusal O(n log N)
-- MODE writes
local ids, key, head, lowest, prefix = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
-- @include order
if redis.call('GETRANGE', key, 0, 7) == head then return 0 end
local members = redis.call('ZRANGE', ids, lowest, '+inf', 'BYSCORE')
for _, member in ipairs(members) do
  local name = prefix .. member
  local before = redis.call('GETRANGE', name, 0, 7)
  if #before < 8 or string.byte(before, 8) % 2 == 1 then
    redis.call('ZREM', ids, member)
  else
    redis.call('ZADD', ids, order(before), member)
  end
end
return #members
