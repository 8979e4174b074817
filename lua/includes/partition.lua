local function generationNow ()
  local known = redis.call('HMGET', generation, 'replid', 'lineage', 'n', 'now', 'finished')
  return known[2] and known[2] .. '.' .. known[3] or '', known[1], tonumber(known[4] or '0'), known[2], known[5]
end
local current, owner, last, lineage, finished = generationNow()
if owner ~= replicationId then return { current } end
local time = redis.call('TIME')
local now = math.max(last, time[1] * 1000 + math.floor(time[2] / 1000))
local nowText = string.format('%.0f', now)
-- entries that a consumer still needs are kept
local finishedMs = finished and tonumber((string.match(finished, '^%d+'))) or now
local since = string.format('%.0f', math.min(finishedMs, now - expiry))
local function isFull () return redis.call('XLEN', outbox) > tonumber(most) end
local isBehind = finished and most ~= '0' and isFull() and finishedMs < now - expiry
-- consumers may have finished what nothing was added after
if isBehind then redis.call('XTRIM', outbox, 'MINID', since) end
