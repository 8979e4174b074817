local function generationNow ()
  local known = redis.call('HMGET', generation, 'replid', 'lineage', 'n', 'now', 'finished', 'back')
  return known[2] and known[2] .. '.' .. known[3] or '', known[1], tonumber(known[4] or '0'), known[2], known[5], tonumber(known[6] or '0')
end
local current, owner, last, lineage, finished, back = generationNow()
if owner ~= replicationId then return { current } end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nowText = string.format('%.0f', now)
-- before anything is decided, turn-back must move the tasks that are durations
if last - now > 1000 then return { current, nowText, 'back' } end
-- Holds and ids of the outbox follow a clock that neither goes back nor stands still: TIME, and by how much it went back since the first call.
back = back + math.max(0, last - now)
local steady, backText = now + back, string.format('%.0f', back)
local steadyText = string.format('%.0f', steady)
-- entries that a consumer still needs are kept
local finishedMs = finished and tonumber((string.match(finished, '^%d+'))) or steady
local since = string.format('%.0f', math.min(finishedMs, steady - expiry))
local function isFull () return redis.call('XLEN', outbox) > tonumber(most) end
local isBehind = finished and most ~= '0' and isFull() and finishedMs < steady - expiry
-- consumers may have finished what nothing was added after
if isBehind then redis.call('XTRIM', outbox, 'MINID', since) end
