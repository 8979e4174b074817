-- Notes that the clock of a primary went back by more than a second. Tasks that are durations move with it, since they were to run that long after they were set; tasks at a time that others gave stay.
-- Atomic, because tasks, holds and ids of the outbox must follow the same clock, and only one process may move them.
-- KEYS [1] generation: hash, [2] tasks: sorted set
-- ARGV [1..n] rule and name of the tasks that are durations
-- RETURNS integer, by how many ms it went back; 0 if that is noted already
-- COST O(n log n) of tasks
-- MODE writes
local generation, tasks, durations = KEYS[1], KEYS[2], {}
-- @include clock
local went = last - now
if went <= 1000 then return 0 end
for i = 1, #ARGV do durations[ARGV[i]] = true end
local flat = redis.call('ZRANGE', tasks, 0, -1, 'WITHSCORES')
for i = 1, #flat, 2 do
  local rule, name = string.match(flat[i], '^(%S+) %S+ (%S+)$')
  if rule and durations[rule .. ' ' .. name] then redis.call('ZADD', tasks, string.format('%.0f', flat[i + 1] - went), flat[i]) end
end
redis.call('HSET', generation, 'now', string.format('%.0f', now), 'back', string.format('%.0f', back + went))
-- until its driver renews its lease
redis.call('HDEL', generation, 'wait')
return went
