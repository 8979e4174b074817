-- Takes the lease of a partition if it is free, or confirms it, or gives it back, notes the clock, and how long its work waits.
-- Atomic, because only one process may find it free. A lease lasts while its process sends heartbeats (heartbeat.lua). The token grows with each ownership, so that what an earlier owner sends late is refused.
-- KEYS [1] owner: hash, [2] generation: hash, [3] cursors: hash of consumers, [4] outbox: stream, [5] consumers: sorted set by time of the last heartbeat
-- ARGV [1] id of the process, [2] token that it holds, 0 = none, [3] ms after which a process without a heartbeat has no leases, 0 = this one is given back, [4] a new token is higher than this one, [5] ms that the oldest work of the partition has waited for this process, empty if the process does not drive it, [6] consumer that drives it: nothing has waited longer than its oldest entry; empty = scheduled tasks
-- RETURNS integer, the token; 0 if another process holds the lease
-- COST O(log N) of processes
-- MODE writes
local owner, generation, cursors, outbox, consumers, id, held, lease, least, waited, driver = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
-- @include clock
local known = redis.call('HMGET', owner, 'id', 'token')
local other, token = known[1] or '', tonumber(known[2] or '0')
if held ~= '0' then
  if other ~= id or known[2] ~= held then return 0 end
else
  local seen = other ~= '' and other ~= id and tonumber(redis.call('ZSCORE', consumers, other) or '-inf')
  -- a heartbeat that came while the clock was ahead counts as a new one
  if seen and seen > now then redis.call('ZADD', consumers, string.format('%.0f', now), other) end
  if seen and now < seen + lease then return 0 end
  -- as a heartbeat: others would find the lease free
  redis.call('ZADD', consumers, string.format('%.0f', now), id)
  token = math.max(token, least) + 1
end
if held == '0' or lease == 0 then redis.call('HSET', owner, 'id', lease > 0 and id or '', 'token', token) end
local sets = {}
-- a clock that went back is noted by turn-back, which needs the time before
if now > last then sets = { 'now', string.format('%.0f', now) } end
if waited ~= '' then
  local wait, untilMs = tonumber(waited), now + lease
  if driver ~= '' and wait > 0 then
    local cursor = redis.call('HGET', cursors, driver)
    local oldest = redis.call('XRANGE', outbox, cursor and '(' .. cursor or '-', '+', 'COUNT', 1)[1]
    -- ids are on the steady clock of the partition
    wait = oldest and math.min(wait, now + back - tonumber(string.match(oldest[1], '^%d+'))) or 0
  end
  -- that nothing waits is said less often (src/consumers/ownership.js)
  if wait <= 0 then untilMs = now + 4 * lease end
  sets[#sets + 1], sets[#sets + 2] = 'wait', string.format('%.0f %.0f', untilMs, math.max(0, wait))
end
if #sets > 0 then redis.call('HSET', generation, unpack(sets)) end
return token
