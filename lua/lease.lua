-- Takes the lease of a partition if it is free, or renews it, or gives it back, notes the clock, and how long its work waits.
-- Atomic, because only one process may find it free. The token grows with each ownership, so that what an earlier owner sends late is refused.
-- KEYS [1] owner: hash, [2] generation: hash, [3] cursors: hash of consumers, [4] outbox: stream
-- ARGV [1] id of the process, [2] token that it holds, 0 = none, [3] lease: ms, 0 = it is given back, [4] a new token is higher than this one, [5] ms that the oldest work of the partition has waited for this process, empty if the process does not drive it, [6] consumer that drives it: nothing has waited longer than its oldest entry; empty = scheduled tasks
-- RETURNS integer, the token; 0 if another process holds the lease
-- COST O(1)
-- MODE writes
local owner, generation, cursors, outbox, id, held, lease, least, waited, driver = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
-- @include clock
-- a clock that went back is noted by turn-back, which needs the time before
if now > last then redis.call('HSET', generation, 'now', string.format('%.0f', now)) end
local known = redis.call('HMGET', owner, 'id', 'token', 'until')
local token, ends = tonumber(known[2] or '0'), tonumber(known[3] or '0')
if known[1] ~= id or known[2] ~= held then
  -- no lease reaches further than this, so it was given while the clock was ahead
  if lease > 0 and ends > now + lease then redis.call('HSET', owner, 'until', string.format('%.0f', now + lease)) end
  if held ~= '0' or now < ends then return 0 end
  token = math.max(token, least) + 1
end
redis.call('HSET', owner, 'id', id, 'token', token, 'until', string.format('%.0f', now + lease))
if waited == '' then return token end
local wait = tonumber(waited)
if driver ~= '' then
  local cursor = redis.call('HGET', cursors, driver)
  local oldest = redis.call('XRANGE', outbox, cursor and '(' .. cursor or '-', '+', 'COUNT', 1)[1]
  -- ids are on the steady clock of the partition
  wait = oldest and math.min(wait, now + back - tonumber(string.match(oldest[1], '^%d+'))) or 0
end
redis.call('HSET', generation, 'wait', string.format('%.0f %.0f', now + lease, math.max(0, wait)))
return token
