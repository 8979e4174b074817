-- Counts an attempt at entries of an outbox before their effect, or takes the last one back.
-- Atomic, because only the owner may count, and no attempt may begin above the limit.
-- KEYS [1] owner: hash, [2] attempts: hash of consumers
-- ARGV [1] token, [2] name of the consumer, [3] id of the first entry, [4] attempts that may begin: integer, 0 = the last one is taken back
-- RETURNS integer, the attempts at this first entry that count; -1 if that many have begun before; -2 if the token is an older one
-- COST O(1)
-- MODE writes
local owner, attempts, token, name, entry, most = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('HGET', owner, 'token') ~= token then return -2 end
local known, count = string.match(redis.call('HGET', attempts, name) or '', '^(%S+) (%d+)$')
local n = known == entry and tonumber(count) or 0
if most > 0 and n >= most then return -1 end
n = most > 0 and n + 1 or math.max(0, n - 1)
redis.call('HSET', attempts, name, entry .. ' ' .. n)
return n
