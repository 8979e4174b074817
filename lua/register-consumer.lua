-- Registers a consumer of an outbox, so that nothing is trimmed before the consumer has read it.
-- Atomic, because the bound of trimming must not move between the cursor and itself.
-- KEYS [1] cursors: hash of consumers, [2] generation: hash
-- ARGV [1] name of the consumer
-- RETURNS integer, 1 if it is new
-- COST O(1)
-- MODE writes
local cursors, generation, name = KEYS[1], KEYS[2], ARGV[1]
if redis.call('HGET', cursors, name) then return 0 end
redis.call('HSET', cursors, name, '0-0')
redis.call('HSET', generation, 'finished', '0-0')
return 1
