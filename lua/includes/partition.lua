-- One command reads what is stored of the partition, and the versions of the rules of this call.
named, numbers = unpack(cjson.decode(targetTexts))
local asked, askedAt = { 'replid', 'lineage', 'n', 'now', 'finished', 'back', 'wait' }, {}
for _, one in ipairs(named) do
  local rule = one[1]
  if rules[rule] and not askedAt[rule] then
    asked[#asked + 1] = 'rule:' .. rule
    askedAt[rule] = #asked
  end
end
local known = redis.call('HMGET', generation, unpack(asked))
local owner, finished = known[1], known[5]
lineage, back = known[2], tonumber(known[6] or '0')
current = lineage and lineage .. '.' .. known[3] or ''
if owner ~= replicationId then return { current } end
local last, time = tonumber(known[4] or '0'), redis.call('TIME')
now = time[1] * 1000 + math.floor(time[2] / 1000)
nowText = string.format('%.0f', now)
-- before anything is decided, turn-back must move the tasks that are durations
if last - now > 1000 then return { current, nowText, 'back' } end
-- Holds and ids of the outbox follow a clock that neither goes back nor stands still: TIME, and by how much it went back since the first call.
back = back + math.max(0, last - now)
local steady = now + back
backText = back == 0 and '0' or string.format('%.0f', back)
steadyText = back == 0 and nowText or string.format('%.0f', steady)
-- entries that a consumer still needs are kept
local finishedMs = finished and tonumber((string.match(finished, '^%d+'))) or steady
since = string.format('%.0f', math.min(finishedMs, steady - expiry))
-- Consumers may have finished what nothing was added after. Then the caller calls again, because nothing is written before a rule runs.
if finished and most ~= '0' and finishedMs < steady - expiry and redis.call('XLEN', outbox) > tonumber(most) then
  redis.call('XTRIM', outbox, 'MINID', since)
  return redis.call('XLEN', outbox) > tonumber(most) and { current, nowText, 'backlog' } or { current }
end
for rule, at in pairs(askedAt) do
  if known[at] ~= versions[rule] then return { current, nowText, 'rules' } end
end
-- how long the oldest work of the partition has waited for the process that drives it; nothing while none does
local waitUntil, waited = string.match(known[7] or '', '^(%d+) (%d+)$')
waitText = waitUntil and now < tonumber(waitUntil) and waited or ''
-- numbers of the commands that start work, while it waits too long
starting = none
if starts ~= '' and waitText ~= '' then
  local bound = cjson.decode(starts)
  starting = {}
  for i = 2, tonumber(waitText) > bound[1] and #bound or 1 do starting[bound[i]] = true end
end
