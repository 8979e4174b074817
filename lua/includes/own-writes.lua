-- Writes what was decided: events first, which say whether the stream is ahead of the state, then requests, so that none is decided twice, the outbox, and the key itself. If a write of a key fails although it was checked, its others are undone, and all of its commands in this call fail.
local function attempt (target, write, ...)
  if target.failure then return end
  local ok, why = pcall(write, target, ...)
  if not ok then target.failure = whyOf(why) end
end

local function addEvent (target, entry)
  local events, seq = target.events, string.format('%.0f', entry.seq + target.shift)
  redis.call('XADD', events, seq .. '-0', 'seq', seq, 'ts', nowText, unpack(entry.event))
  entry.isAdded = true
end

local function writeEvent (target, entry)
  if entry.seq == 0 or pcall(addEvent, target, entry) then return end
  local last = tonumber(lastMsOf(target.events))
  if target.shift == 0 then target.behind, target.shift = target.behind or entry.seq - 1, math.max(last + 1 - entry.seq, 0) end
  addEvent(target, entry)
end

local function textOfDecision (decision)
  local target = decision.target
  if target.failure then return 'failed\n' .. target.failure end
  local seq = string.format('%.0f', decision.seq + target.shift)
  return table.concat({ decision.status, decision.code, seq, string.format('%.0f', decision.version), decision.details }, '\n')
end

local function writeRequest (target, request, decision)
  redis.call('SET', request, decision.body .. string.match(textOfDecision(decision), '\n.*$'), 'PX', expiry)
end

local function addEntry (target, entry)
  local seq = string.format('%.0f', entry.seq == 0 and 0 or entry.seq + target.shift)
  entry.id = redis.call('XADD', outbox, 'MINID', '~', since, outboxMs .. '-*', 'rule', target.rule, 'key', target.key, 'ts', nowText,
    'request', entry.request, 'seq', seq, 'version', string.format('%.0f', entry.version), unpack(entry.event))
end

local function writeEntry (target, entry)
  if pcall(addEntry, target, entry) then return end
  outboxMs = lastMsOf(outbox)
  addEntry(target, entry)
end

local function writeState (target)
  local state, events = target.state, target.events
  local flat, removed = { '@seq', string.format('%.0f', target.seq + target.shift), '@version', string.format('%.0f', target.version) }, {}
  if target.done ~= '' then target.changed['@done'] = target.done end
  for field, value in pairs(target.changed) do
    if value then
      flat[#flat + 1] = field
      flat[#flat + 1] = value
    else
      removed[#removed + 1] = field
    end
  end
  for i = 1, #flat, 1000 do redis.call('HSET', state, unpack(flat, i, math.min(#flat, i + 999))) end
  for i = 1, #removed, 1000 do redis.call('HDEL', state, unpack(removed, i, math.min(#removed, i + 999))) end
  if keptEvents[target.rule] then redis.call('XTRIM', events, 'MAXLEN', '~', keptEvents[target.rule]) end
end

local function writeTarget (target)
  for task, due in pairs(target.dues) do
    if due then redis.call('ZADD', tasks, due, task) else redis.call('ZREM', tasks, task) end
  end
  if not target.isKept then return end
  writeKept(target.kept)
  writeState(target)
  if target.ends then
    for i = target.first, target.last do redis.call('PEXPIRE', KEYS[i], keep) end
  end
end

-- the last id of the stream stays, so the next call of the key goes on behind it
local function undo (target)
  local state, events, before = target.state, target.events, {}
  for i = 1, #target.flat, 2 do before[target.flat[i]] = target.flat[i + 1] end
  target.changed['@seq'], target.changed['@version'] = true, true
  for field in pairs(target.changed) do
    if before[field] then redis.call('HSET', state, field, before[field]) else redis.call('HDEL', state, field) end
  end
  for _, request in ipairs(requested) do
    if accepted[request].target == target then redis.call('PEXPIRE', request, 0) end
  end
  for _, entry in ipairs(entries) do
    if entry.target == target and entry.isAdded then redis.call('XDEL', events, string.format('%.0f-0', entry.seq + target.shift)) end
    if entry.target == target and entry.id then redis.call('XDEL', outbox, entry.id) end
  end
end

for _, entry in ipairs(entries) do attempt(entry.target, writeEvent, entry) end
for _, request in ipairs(requested) do attempt(accepted[request].target, writeRequest, request, accepted[request]) end
for _, entry in ipairs(entries) do attempt(entry.target, writeEntry, entry) end
for _, target in pairs(targets) do
  attempt(target, writeTarget)
  if target.failure then pcall(undo, target) end
end
if reopened > 0 then redis.call('HINCRBY', generation, 'n', reopened) end
for i, decision in ipairs(decisions) do replies[i + 2] = type(decision) == 'table' and textOfDecision(decision) or decision end
replies[n + 3] = waitText
for _, target in pairs(targets) do
  if target.behind and target.isKept and not target.failure then
    replies[#replies + 1] = table.concat({ target.rule, target.key, string.format('%.0f', target.behind),
      string.format('%.0f', target.seq + target.shift) }, '\n')
  end
end
