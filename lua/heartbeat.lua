-- Says that a process of consumers lives, and which others do: the leases of its partitions last as long as it does.
-- Atomic, because all of them must reckon with one clock.
-- KEYS [1] consumers: sorted set by time of the last heartbeat
-- ARGV [1] id of the process, [2] 1 = it lives, 0 = it leaves, [3] ms after which one without a heartbeat is gone
-- RETURNS now in ms; 1 if this process lived at its last heartbeat, 0 if others may have its leases; then of each that lives its id, and for how many ms it still does so without another heartbeat
-- COST O(n log n) of processes
-- MODE writes
local consumers, id, lives, gone = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nowText = string.format('%.0f', now)
local reply = { nowText, 0 }
local beats = redis.call('ZRANGE', consumers, 0, -1, 'WITHSCORES')
for i = 1, #beats, 2 do
  local one, leftMs = beats[i], beats[i + 1] + gone - now
  -- a heartbeat that came while the clock was ahead counts as a new one
  if leftMs > gone then
    leftMs = gone
    if one ~= id then redis.call('ZADD', consumers, nowText, one) end
  end
  if leftMs <= 0 then
    redis.call('ZREM', consumers, one)
  elseif one == id then
    reply[2] = 1
  else
    reply[#reply + 1], reply[#reply + 2] = one, string.format('%.0f', leftMs)
  end
end
if lives == '1' then
  redis.call('ZADD', consumers, nowText, id)
  reply[#reply + 1], reply[#reply + 2] = id, string.format('%.0f', gone)
else
  redis.call('ZREM', consumers, id)
end
return reply
