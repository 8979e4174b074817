-- Decides up to 256 commands of one partition by rules of users: first all of them, then it stores what the accepted ones do.
-- Atomic, because a decision, its state, events and outbox must not come apart. Nothing is written while a rule runs, so that SCRIPT KILL stops one that never ends.
-- KEYS [1] outbox: stream, [2] tasks: sorted set, [3] generation: hash, [4..n+3] request of each command: string, without an id it is not stored, [n+4..] of each target: state: hash, events: stream, and what its rule keeps: members: hash, holds: sorted set, waiting: sorted set
-- ARGV [1] replication id of the primary that the caller sees, [2] expiry of requests, and of the outbox: ms, [3] expiry of ended keys: ms, [4] entries of the outbox above which nothing is decided if consumers need older ones than that, 0 = no bound, [5] targets: JSON array of rule and key, [6..n+5] of each command: JSON array of arguments and the number of its target, below 0 for a scheduled task, [n+6] of the commands that start work: JSON array of the ms that the oldest work of the partition may have waited and their numbers, empty = none
-- RETURNS generation, now in ms, then of each command a text, its lines: accepted, rejected, replay, other_body or failed; code, or why it failed; sequence; version; details as JSON; `refused` in place of the lines of one that starts work while that has waited longer; then that wait in ms, empty while no process drives the partition; a generation alone when it belongs to another replication id, or to call again; `backlog` in place of the commands when the outbox is full, `rules` when a rule is stored in another version, `back` when the clock went back
-- COST O(n log N)
-- MODE writes
-- text of the rules, and what is stored about them, are put here when a system is opened
local rules, versions, keptEvents, parts = {}, {}, {}, {}
local outbox, tasks, generation, replicationId, expiry, keep, most, targetTexts, starts = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[#ARGV]
-- @include partition
if isBehind then return isFull() and { current, nowText, 'backlog' } or { current } end
-- @include kept
-- @include own-rule

local n = #ARGV - 6
local requests, accepted = redis.call('MGET', unpack(KEYS, 4, n + 3)), {}
local named, targets, made, firstKeys = cjson.decode(targetTexts), {}, {}, { n + 4 }
for i, target in ipairs(named) do
  local rule = target[1]
  firstKeys[i + 1] = firstKeys[i] + 2 + #(parts[rule] or {})
  if not made[rule] and redis.call('HGET', generation, 'rule:' .. rule) ~= versions[rule] then return { current, nowText, 'rules' } end
  made[rule] = true
end

-- what is written once all commands are decided
local entries, dues, decided, reopened = {}, {}, {}, 0

local function targetOf (number)
  if targets[number] then return targets[number] end
  local first, rule, key = firstKeys[number], named[number][1], named[number][2]
  local state, kept = KEYS[first], {}
  for i, part in ipairs(parts[rule] or {}) do kept[part] = { key = KEYS[first + 1 + i] } end
  local target = { rule = rule, key = key, first = first, last = firstKeys[number + 1] - 1, state = state, events = KEYS[first + 1],
    kept = kept, fields = {}, changed = {}, seq = 0, version = 0 }
  local flat = redis.call('HGETALL', state)
  for i = 1, #flat, 2 do target.fields[flat[i]] = flat[i + 1] end
  target.seq, target.version = tonumber(target.fields['@seq'] or '0'), tonumber(target.fields['@version'] or '0')
  target.fields['@seq'], target.fields['@version'] = nil, nil
  if made[rule] == true then made[rule] = rules[rule]() end
  targets[number] = target
  return target
end

local function dueOf (task)
  local due = dues[task]
  if due == nil then due = redis.call('ZSCORE', tasks, task) end
  return tonumber(due)
end

-- its commands that follow see it
local function keepChange (target, fields, change, request)
  for field, value in pairs(fields) do
    if target.fields[field] ~= value then target.changed[field] = value end
  end
  for field in pairs(target.fields) do
    if fields[field] == nil then target.changed[field] = false end
  end
  target.fields, target.version, target.isKept = fields, target.version + 1, true
  for _, event in ipairs(change.events) do
    target.seq = target.seq + 1
    entries[#entries + 1] = { target, request, target.seq, target.version, event }
  end
  -- readers read the state again
  if #change.events == 0 then entries[#entries + 1] = { target, request, 0, target.version, { 'type', '@changed' } } end
  local task = target.rule .. ' ' .. target.key .. ' '
  for name, due in pairs(change.tasks) do dues[task .. name] = due end
  for name, part in pairs(target.kept) do
    for one, value in pairs(change[name] or none) do setIn(part, one, name == 'holds' and steadyOf(value) or value) end
  end
  if change.holds then dues[task .. 'expire'] = firstHold(target.kept) or false end
  target.ends = target.ends or change.ends
  if change.reopens then reopened = reopened + 1 end
end

local function lines (status, code, target, details)
  return table.concat({ status, code, string.format('%.0f', target.seq), string.format('%.0f', target.version), details }, '\n')
end

local function decide (i)
  local text, request = ARGV[i + 5], KEYS[i + 3]
  local args, id = cjson.decode(text), string.match(request, '[^:]*$')
  local number = table.remove(args)
  local target, body = targetOf(math.abs(number)), id ~= '' and redis.sha1hex(string.match(text, '^.*[,%[]'))
  local known = accepted[request] or requests[i]
  if known then
    local knownBody, decision = string.match(known, '^(%x+)\n(.*)$')
    return knownBody == body and 'replay\n' .. decision or lines('other_body', '', target, '{}')
  end
  local task = number < 0 and target.rule .. ' ' .. target.key .. ' ' .. args[1]
  if task and (dueOf(task) or now + 1) > now then return lines('rejected', 'not_due', target, '{}') end
  local fields = {}
  for field, value in pairs(target.fields) do fields[field] = value end
  ofKey = target.kept
  local code, written, details, change = checked(ofKey, fields, made[target.rule](fields, args, now, parts[target.rule] and read))
  if task then dues[task] = false end
  if not change then return lines('rejected', code, target, details) end
  if starting[i] then return 'refused' end
  keepChange(target, written, change, id)
  local decision = lines('accepted', code, target, details)
  if id ~= '' then
    accepted[request] = body .. string.match(decision, '\n.*$')
    decided[#decided + 1] = request
  end
  return decision
end

local replies = { current, nowText }
for i = 1, n do
  local ok, decision = pcall(decide, i)
  -- the texts of a call must fit into one reply
  replies[i + 2] = ok and decision or 'failed\n' .. string.gsub(string.sub(tostring(decision), 1, 4096), '\n', ' ')
end
-- a server that accepts no writes refuses the whole call here
redis.call('HSET', generation, 'now', nowText, 'back', backText)
-- @include own-writes
replies[1] = (generationNow())
replies[n + 3] = waitText
return replies
