-- Reads a key of a system: its state, its newest events, the end of the outbox of its partition, and the generation.
-- Atomic, because the events and the end of the outbox must be those of the state.
-- KEYS [1] state: hash, [2] events: stream, [3] outbox: stream, [4] generation: hash
-- ARGV [1] number of events
-- RETURNS state: fields and values in turn, events: the newest first, the last entry of the outbox, lineage and number of the generation
-- COST O(n)
-- MODE read
local state, events, outbox, generation, count = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
return {
  redis.call('HGETALL', state),
  redis.call('XREVRANGE', events, '+', '-', 'COUNT', count),
  redis.call('XREVRANGE', outbox, '+', '-', 'COUNT', 1),
  redis.call('HMGET', generation, 'lineage', 'n')
}
