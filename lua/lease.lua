-- Takes the lease of a partition if it is free, or renews it, or gives it back.
-- Atomic, because only one process may find it free. The token grows with each ownership, so that what an earlier owner sends late is refused.
-- KEYS [1] owner: hash
-- ARGV [1] id of the process, [2] token that it holds, 0 = none, [3] lease: ms, 0 = it is given back, [4] a new token is higher than this one
-- RETURNS integer, the token; 0 if another process holds the lease
-- COST O(1)
-- MODE writes
local owner, id, held, lease, least = KEYS[1], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', owner, 'id', 'token', 'until')
local token = tonumber(known[2] or '0')
if known[1] ~= id or known[2] ~= held then
  if held ~= '0' or now < tonumber(known[3] or '0') then return 0 end
  token = math.max(token, least) + 1
end
redis.call('HSET', owner, 'id', id, 'token', token, 'until', string.format('%.0f', now + lease))
return token
