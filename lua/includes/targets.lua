-- The keys of a call: the state of each as its commands change it, and what its rule keeps. All are read before anything is decided.

-- With rules of ours `fields` is the state as it was read. With those of users it is a list of names and values, which costs no copy to compare.
local function readState (target)
  local state = target.state
  local read, seq, version = redis.call('HGETALL', state), nil, nil
  if isOurs then
    read = read.map
    seq, version, target.done = read.seq, read.version, read['@done'] or ''
  else
    for i = 1, #read, 2 do
      local name = read[i]
      if engine[name] then
        if name == shown[1] then seq = read[i + 1] elseif name == shown[2] then version = read[i + 1] else target.done = read[i + 1] end
      end
    end
  end
  target.fields = read
  if version then target.seq, target.version, target.seqText, target.versionText = tonumber(seq or '0'), tonumber(version), seq or '0', version end
end

local function keptOf (rule, firstKey)
  local kept = {}
  local names = parts[rule]
  for at = 1, #names do
    local part = names[at]
    local key = KEYS[firstKey + 1 + at]
    kept[part] = part == 'members' and { key = key, isTyped = false, changed = none, read = none } or
      { key = key, isTyped = false, changed = none, added = none, stored = none, first = 1, wanted = 1, isWhole = false }
  end
  return kept
end

local function readTarget (rule, key, firstKey)
  local target = {
    rule = rule, key = key, first = firstKey, state = KEYS[firstKey], events = KEYS[firstKey + 1], kept = none, shift = 0, done = '', seq = 0, version = 0,
    seqText = '0', versionText = '0', isRead = false, fields = false, sets = false, pending = false
  }
  if parts[rule] then target.kept = keptOf(rule, firstKey) end
  return target
end

-- Also whether the stream of a key is ahead of its state: a call ended between its writes, or another program wrote to it. That the outbox can be read says that it is a stream.
local function readAhead (reads) return redis.call('XREAD', unpack(reads)) end
local function readTargets ()
  local reads, firstKey, count = { 'COUNT', '1', 'STREAMS' }, n + 4, #named
  targets = {}
  for i = 1, count do
    local target = readTarget(named[i][1], named[i][2], firstKey)
    targets[i], firstKey, reads[i + 3] = target, firstKey + 2 + (parts[target.rule] and #parts[target.rule] or 0), target.events
  end
  -- hashes come as tables
  if isOurs then redis.setresp(3) end
  local at = 1
  local function readStates ()
    while at <= count do
      readState(targets[at])
      at = at + 1
    end
  end
  while at <= count do
    local ok, why = pcall(readStates)
    if not ok then targets[at].why, at = why, at + 1 end
  end
  if isOurs then redis.setresp(2) end
  reads[count + 4], reads[2 * count + 5] = outbox, '$'
  for i = 1, count do reads[i + 4 + count] = targets[i].seqText end
  local found
  areRead, found = pcall(readAhead, reads)
  isAhead = none
  if areRead and found then
    isAhead = {}
    for _, one in ipairs(found) do isAhead[one[1]] = true end
  end
end

-- The key goes on behind the events that its state does not have, and a request that stored one of them is not decided again.
local mostSeen = 10000
local function goBehind (target)
  local events, after = target.events, string.format('%.0f-0', target.seq + 1)
  local last = redis.call('XREVRANGE', events, '+', after, 'COUNT', 1)[1]
  if not last then return end
  for _, entry in ipairs(redis.call('XREVRANGE', outbox, '+', '-', 'COUNT', mostSeen)) do
    local _, rule, _, key, _, _, _, request, _, seq = unpack(entry[2], 1, 10)
    if rule == target.rule and key == target.key and (tonumber(seq) or 0) > target.seq then target.done = target.done .. ' ' .. request end
  end
  for _, entry in ipairs(redis.call('XREVRANGE', events, '+', after, 'COUNT', mostSeen)) do
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'request' then target.done = target.done .. ' ' .. entry[2][i + 1] end
    end
  end
  target.behind, target.seqText = target.seq, string.match(last[1], '^%d+')
  target.seq = tonumber(target.seqText)
  target.reached = target.seq
end

local function expectRead (target)
  if target.why then error(target.why, 0) end
  if not areRead or isAhead[target.events] then
    goBehind(target)
  end
  target.isRead = true
end

local function dueOf (task)
  local due = dues[task]
  if due == nil then due = redis.call('ZSCORE', tasks, task) end
  return tonumber(due)
end

-- the state with what the commands of this call changed; what was read stays, to undo a write
local function fieldsOf (target)
  local fields, pending = target.fields, target.pending
  if isOurs then
    if not target.before then
      target.before, fields = fields, {}
      for name, value in pairs(target.before) do fields[name] = value end
      target.fields = fields
    end
    for name, value in pairs(pending) do fields[name] = value end
    target.pending = false
    return fields
  end
  local at = target.at
  if not at then
    target.before, fields, at = fields, {}, {}
    for i = 1, #target.before, 2 do fields[i], fields[i + 1], at[target.before[i]] = target.before[i], target.before[i + 1], i + 1 end
    target.fields, target.at = fields, at
  end
  for i = 5, #pending, 2 do
    local name = pending[i]
    if not at[name] then
      fields[#fields + 1] = name
      at[name] = #fields + 1
    end
    fields[at[name]] = pending[i + 1]
  end
  target.pending = false
  return fields
end
