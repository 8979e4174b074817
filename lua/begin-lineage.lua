-- Begins a lineage of a partition for another primary, unless that was done since.
-- Atomic, because of several processes that see the new primary one begins the lineage.
-- KEYS [1] generation: hash
-- ARGV [1] replication id, [2] the generation that the caller found, [3] lineage: random, [4] 1 = consumers must read the outbox, so nothing is trimmed before they do
-- RETURNS integer, 1 if it was begun
-- COST O(1)
-- MODE writes
local generation, replicationId, before, lineage, isRead = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local known = redis.call('HMGET', generation, 'replid', 'lineage', 'n', 'finished')
local now = known[2] and known[2] .. '.' .. known[3] or ''
if known[1] == replicationId or now ~= before then return 0 end
redis.call('HSET', generation, 'replid', replicationId, 'lineage', lineage, 'n', 0)
if isRead == '1' and not known[4] then redis.call('HSET', generation, 'finished', '0-0') end
return 1
