-- Takes the lease of a partition if it is free, or renews it, or gives it back, and notes the clock.
-- Atomic, because only one process may find it free. The token grows with each ownership, so that what an earlier owner sends late is refused.
-- KEYS [1] owner: hash, [2] generation: hash
-- ARGV [1] id of the process, [2] token that it holds, 0 = none, [3] lease: ms, 0 = it is given back, [4] a new token is higher than this one
-- RETURNS integer, the token; 0 if another process holds the lease
-- COST O(1)
-- MODE writes
local owner, generation, id, held, lease, least = KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
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
return token
