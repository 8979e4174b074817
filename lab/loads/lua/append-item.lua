-- Writes one item and its place in the order, as the commands of layout ids do for a batch of one.
-- Atomic, because every script is; for one item that is all it gives.
-- KEYS [1] ids: sorted set, [2] item key: string; both of one slot
-- ARGV [1] bytes before the id in an item key: integer, [2] expiry in ms: integer, [3] score: number, [4] record: bytes
-- RETURNS integer, 1
-- COST O(log N)
-- MODE writes
local ids, item, prefix, ttl, score, record = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
redis.call('SET', item, record, 'PX', ttl)
redis.call('ZADD', ids, score, string.sub(item, prefix + 1))
return 1
