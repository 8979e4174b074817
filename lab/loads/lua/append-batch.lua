-- Writes the items of a batch and their places in the order, as the commands of layout ids do.
-- Atomic, because every script is; the body of a function too, which finds KEYS and ARGV as its parameters.
-- KEYS [1] ids: sorted set, [2..n+1] item keys: strings; all of one slot
-- ARGV [1] bytes before the id in an item key: integer, [2] expiry in ms: integer, [3..2n+2] score, record, score, record, ...: number, bytes
-- RETURNS integer, n
-- COST O(n log N)
-- MODE writes
local ids, prefix, ttl, n = KEYS[1], tonumber(ARGV[1]), ARGV[2], #KEYS - 1
local places = {}
for i = 1, n do
  redis.call('SET', KEYS[i + 1], ARGV[2 * i + 2], 'PX', ttl)
  places[2 * i - 1] = ARGV[2 * i + 1]
  places[2 * i] = string.sub(KEYS[i + 1], prefix + 1)
end
redis.call('ZADD', ids, unpack(places))
return n
