-- Says that a process of consumers lives, and which others do.
-- Atomic, because all of them must reckon with one clock.
-- KEYS [1] consumers: sorted set by time of the last heartbeat
-- ARGV [1] id of the process, [2] 1 = it lives, 0 = it leaves, [3] ms after which one without a heartbeat is gone
-- RETURNS ids of those that live
-- COST O(log N + n)
-- MODE writes
local consumers, id, lives, gone = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if lives == '1' then redis.call('ZADD', consumers, now, id) else redis.call('ZREM', consumers, id) end
redis.call('ZREMRANGEBYSCORE', consumers, '-inf', string.format('%.0f', now - gone))
-- heartbeats that came while the clock was ahead count as new ones
for _, ahead in ipairs(redis.call('ZRANGEBYSCORE', consumers, string.format('(%.0f', now), '+inf')) do redis.call('ZADD', consumers, now, ahead) end
return redis.call('ZRANGE', consumers, 0, -1)
