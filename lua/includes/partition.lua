local function generationNow ()
  local known = redis.call('HMGET', generation, 'replid', 'lineage', 'n', 'now', 'finished', 'back', 'wait')
  return known[2] and known[2] .. '.' .. known[3] or '', known[1], tonumber(known[4] or '0'), known[2], known[5], tonumber(known[6] or '0'), known[7] or ''
end
local current, owner, last, lineage, finished, back, wait = generationNow()
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
-- how long the oldest work of the partition has waited for the process that drives it; nothing while none does
local waitUntil, waited = string.match(wait, '^(%d+) (%d+)$')
local waitText = waitUntil and now < tonumber(waitUntil) and waited or ''
-- numbers of the commands that start work, while it waits too long
local starting = {}
if starts ~= '' and waitText ~= '' then
  local numbers = cjson.decode(starts)
  for i = 2, tonumber(waitText) > numbers[1] and #numbers or 1 do starting[numbers[i]] = true end
end
