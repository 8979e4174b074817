-- Writes what was decided: events first, which say whether the stream is ahead of the state, then requests, so that none is decided twice, the outbox, and the key itself. If a write of a key fails although it was checked, its others are undone, and all of its commands in this call fail.
local function lastMsOf (stream)
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return string.match(info[i + 1], '^%d+') end
  end
end

local function numberText (number) return string.format('%.0f', number) end

local function addEvent (target, entry)
  local events, seq = target.events, entry.seqText
  redis.call('XADD', events, seq .. '-0', 'seq', seq, 'ts', nowText, unpack(entry.event))
  entry.isAdded = true
end

-- An id must be behind the last one of its stream, also where that is ahead of what is known here: after entries were removed, or a clock was corrected.
local function writeEvent (target, entry)
  if not entry.hasStream then return end
  local seq = target.shift > 0 and tonumber(entry.seqText)
  if seq then entry.seqText = numberText(seq + target.shift) end
  if pcall(addEvent, target, entry) then return end
  local last = tonumber(lastMsOf(target.events))
  seq = seq or tonumber(entry.seqText)
  if target.shift == 0 then target.behind, target.shift = target.behind or seq - 1, math.max(last + 1 - seq, 0) end
  entry.seqText = numberText(seq + target.shift)
  addEvent(target, entry)
end

local function textOfDecision (decision)
  local target, text = decision.target, decision.text
  if target.failure then return 'failed\n' .. target.failure end
  if target.shift == 0 then return text end
  local code, seq, more = string.match(text, '^(\n[^\n]*\n)(%d+)(.*)$')
  return code .. numberText(seq + target.shift) .. more
end

local function replyOf (decision)
  local text = textOfDecision(decision)
  return decision.target.failure and text or decision.status .. text
end

local function writeRequest (_, decision)
  local request = decision.request
  redis.call('SET', request, decision.body .. textOfDecision(decision), 'PX', expiry)
end

local function writeEntry (target, entry)
  entry.id = redis.call('XADD', outbox, 'MINID', '~', since, outboxMs .. '-*', 'rule', target.rule, 'key', target.key, 'ts', nowText,
    'request', entry.request, 'seq', entry.seqText, 'version', entry.versionText, unpack(entry.event))
end

local function splitSets (sets, flat, removed)
  for i = 1, #sets, 2 do
    if sets[i + 1] then
      flat[#flat + 1] = sets[i]
      flat[#flat + 1] = sets[i + 1]
    else
      removed[#removed + 1] = sets[i]
    end
  end
end

local function writeState (target)
  local state, events = target.state, target.events
  local flat, removed = {}, {}
  target.sets[2], target.sets[4] = target.shift == 0 and target.seqText or numberText(target.seq + target.shift), target.versionText
  if target.done ~= '' then
    target.sets[#target.sets + 1] = '@done'
    target.sets[#target.sets + 1] = target.done
  end
  if target.hasGone then splitSets(target.sets, flat, removed) else flat = target.sets end
  for i = 1, #flat, 1000 do redis.call('HSET', state, unpack(flat, i, i + 999 < #flat and i + 999 or #flat)) end
  for i = 1, #removed, 1000 do redis.call('HDEL', state, unpack(removed, i, i + 999 < #removed and i + 999 or #removed)) end
  local most = target.keepEvents or keptEvents[target.rule]
  if most and most > 0 then redis.call('XTRIM', events, 'MAXLEN', '~', most) end
end

local function writeTarget (target)
  if target.kept ~= none then writeKept(target.kept) end
  writeState(target)
  if target.ends then
    target.last = target.first + 1 + (parts[target.rule] and #parts[target.rule] or 0)
    for i = target.first, target.last do redis.call('PEXPIRE', KEYS[i], keep) end
  end
end

-- the last id of the stream stays, so the next call of the key goes on behind it
local function undo (target)
  local state, events, before = target.state, target.events, {}
  local read, sets = target.before or target.fields, target.sets
  if isOurs then before = read end
  for i = 1, isOurs and 0 or #read, 2 do before[read[i]] = read[i + 1] end
  for i = 1, #sets, 2 do
    local field = sets[i]
    if before[field] then redis.call('HSET', state, field, before[field]) else redis.call('HDEL', state, field) end
  end
  for _, decision in ipairs(requested) do
    local request = decision.request
    if decision.target == target then redis.call('PEXPIRE', request, 0) end
  end
  for _, entry in ipairs(entries) do
    if entry.target == target and entry.isAdded then redis.call('XDEL', events, entry.seqText .. '-0') end
    if entry.target == target and entry.id then redis.call('XDEL', outbox, entry.id) end
  end
end

-- Whether ids of entries can go on behind the last one of the outbox.
local function isBehindOutbox ()
  local before = outboxMs
  outboxMs = lastMsOf(outbox)
  return outboxMs ~= before
end

-- One pcall for all writes: after one that fails it goes on with the next.
local function writeEach (list, write)
  local at = 1
  local function run ()
    while at <= #list do
      local one = list[at]
      local target = one.target or one
      if not target.failure then write(target, one) end
      at = at + 1
    end
  end
  while at <= #list do
    local ok, why = pcall(run)
    if not ok and (write ~= writeEntry or not isBehindOutbox()) then
      local target = list[at].target or list[at]
      target.failure, at = whyOf(why), at + 1
    end
  end
end

local function forgetTasks (target)
  local first = target.rule .. ' ' .. target.key .. ' '
  for task in pairs(dues) do
    if sub(task, 1, #first) == first then dues[task] = nil end
  end
end

local function writeTasks ()
  local due, done = {}, {}
  for task, at in pairs(dues) do
    if at then
      due[#due + 1] = at
      due[#due + 1] = task
    else
      done[#done + 1] = task
    end
  end
  for i = 1, #due, 1000 do redis.call('ZADD', tasks, unpack(due, i, i + 999 < #due and i + 999 or #due)) end
  for i = 1, #done, 1000 do redis.call('ZREM', tasks, unpack(done, i, i + 999 < #done and i + 999 or #done)) end
end

local function writeAll ()
  writeEach(entries, writeEvent)
  writeEach(requested, writeRequest)
  writeEach(entries, writeEntry)
  writeEach(changed, writeTarget)
  for _, target in ipairs(changed) do
    if target.failure then
      pcall(undo, target)
      forgetTasks(target)
    end
  end
  writeTasks()
end
