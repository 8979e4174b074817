-- Decides up to 256 commands of one partition, in order: first all of them, then it stores what the accepted ones do.
-- Atomic, because a decision, its state, events and outbox must not come apart, nor another command come in between. Nothing is written while a rule runs, so that FUNCTION KILL stops one that never ends.
-- KEYS [1] outbox: stream, [2] tasks: sorted set, [3] generation: hash, [4..n+3] request of each command: string, without an id it is not stored, [n+4..] of each target: state: hash, events: stream, and what its rule keeps: members: hash, holds: sorted set, waiting: sorted set
-- ARGV [1] replication id of the primary that the caller sees, [2] expiry of requests, and of the outbox: ms, [3] expiry of ended keys: ms, [4] entries of the outbox above which nothing is decided if consumers need older ones than that, 0 = no bound, [5] JSON array of the targets, each an array of rule and key, and of the number of the target of each command, below 0 for a scheduled task that is decided only while it is due, [6..n+5] of each command: JSON array of arguments, [n+6] of the commands that start work: JSON array of the ms that the oldest work of the partition may have waited and their numbers, empty = none
-- RETURNS generation, now in ms, then of each command a text, its lines: accepted, rejected, replay, other_body or failed; code, or why it failed; sequence; version; details as JSON; `refused` in place of the lines of one that starts work while that has waited longer; then that wait in ms, empty while no process drives the partition; a generation alone when it belongs to another replication id, or to call again; `backlog` in place of the commands when the outbox is full, `rules` when a rule is stored in another version, `back` when the clock went back; then of each key that was mended, lines: rule, key, the sequence of its state, that of its stream
-- COST O(n log N)
-- MODE writes
-- What is of one call. All else up to @call is made once where this is a function of a library.
local outbox, tasks, generation, replicationId, expiry, keep, most, n
local named, numbers, requests, accepted, firstOfId, targets, areRead, isAhead
local current, lineage, now, nowText, back, backText, steadyText, since, waitText, starting
-- commands that are decided, what their rule reads with and returned, and what is written when all are
local find, sub, format
local ofKey, returned, entries, requested, changed, dues, reopened, outboxMs, isAllowed, mayHoldTasks, outboxFault
-- @include rules
local made, isOurs = {}, shown[1] == 'seq'
-- @include kept
-- @include returned
-- @include targets
-- @include changes
-- @include allowed
-- @include writes

-- `text`: as it is stored, and returned, behind its status
local function decided (status, code, target, details, request, body)
  return {
    status = status, text = '\n' .. code .. '\n' .. target.seqText .. '\n' .. target.versionText .. '\n' .. details, target = target, request = request,
    body = body
  }
end

-- the stored decisions; without ids of requests there are none
local function readRequests ()
  for i = 1, n do
    if #KEYS[i + 3] >= firstOfId then return redis.call('MGET', unpack(KEYS, 4, n + 3)) end
  end
  return none
end

-- the decision of a request that was accepted before, in this call or an earlier one
local function replayOf (target, here, stored, body)
  if (here and here.body or sub(stored, 1, 40)) ~= body then return decided('other_body', '', target, '{}') end
  return here and setmetatable({ status = 'replay' }, { __index = here }) or 'replay' .. sub(stored, 41)
end

-- the state as the rule gets it
local function stateFor (target, list)
  local fields = {}
  for j = 1, #list, 2 do
    local value = list[j + 1]
    if value then fields[list[j]] = value end
  end
  if target.version > 0 then fields['@seq'], fields['@version'], fields['@done'] = nil, nil, nil end
  return fields
end

-- what a rule of ours changed: it is in front of the state
local function changesInFront (front)
  local sets, at = { shown[1], false, shown[2], false, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil }, 4
  for name, value in pairs(front) do
    if name ~= 'seq' then sets[at + 1], sets[at + 2], at = name, value, at + 2 end
  end
  return sets
end

local function decide (i)
  local text, request, number = ARGV[i + 5], KEYS[i + 3], numbers[i]
  local target, id = targets[number < 0 and -number or number], sub(request, firstOfId)
  if not target.isRead then expectRead(target) end
  local args, here, stored = cjson.decode(text), accepted[request], requests[i]
  if here or stored then return replayOf(target, here, stored, redis.sha1hex(text)) end
  if target.done ~= '' and id ~= '' and find(target.done, id, 1, true) then
    error('an earlier call failed after it had stored events of this request, so it is not decided again; read the key', 0)
  end
  local task = number < 0 and target.rule .. ' ' .. target.key .. ' ' .. args[1]
  if task and (dueOf(task) or now + 1) > now then return decided('rejected', 'not_due', target, '{}') end
  local list, rule = target.pending and fieldsOf(target) or target.fields, target.rule
  local fields = isOurs and (target.version > 0 and setmetatable({}, { __index = list }) or {}) or stateFor(target, list)
  if not made[rule] then made[rule] = rules[rule](guards(rule)) end
  ofKey = target.kept
  local code, details, given = made[rule](fields, args, now, (isOurs or parts[rule]) and read)
  local shownDetails, sets
  if isOurs then
    shownDetails = cjson.encode(details)
  else
    returned = { details, given, fields }
    if not codes[code] then expectCode(code) end
    shownDetails = details and detailsOf(details) or '{}'
  end
  if given then
    sets = isOurs and changesInFront(fields) or changesOf(target, list, fields)
    checkChange(ofKey, given)
    if starting[i] then return 'refused' end
    expectWritable(target, request)
  end
  if task then
    expectTasks()
    dues[task] = false
  end
  if not given then return decided('rejected', code, target, shownDetails) end
  keepChange(target, sets, id)
  target.pending = isOurs and fields or sets
  if isOurs then fields.seq, fields.version = target.seqText, target.versionText end
  local decision = decided('accepted', code, target, shownDetails, request, id ~= '' and redis.sha1hex(text))
  if id ~= '' then
    accepted[request] = decision
    requested[#requested + 1] = decision
  end
  return decision
end

-- @call
local targetTexts, starts
outbox, tasks, generation, replicationId, expiry, keep, most, targetTexts, starts = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[#ARGV]
-- @include partition
n, accepted, firstOfId = #ARGV - 6, {}, #outbox + 3
requests = readRequests()
entries, requested, changed, dues, reopened, outboxMs, isAllowed, mayHoldTasks, outboxFault = {}, {}, {}, {}, 0, steadyText, false, false, nil
types, codes, find, sub, format = {}, {}, string.find, string.sub, string.format
-- a rule of a user is made for each call, so that it cannot keep anything
if not isOurs then made = {} end
readTargets()

local decisions, replies, isDecided = {}, { current, nowText }, false
for i = 1, n do
  returned = nil
  local ok, decision = pcall(decide, i)
  if not ok and returned then
    local isSame, why = pcall(blame, ofKey, unpack(returned, 1, 3))
    if not isSame then decision = why end
  end
  decisions[i], isDecided = ok and decision or 'failed\n' .. whyOf(decision), isDecided or ok
end
-- an outbox of another type fails the call, if it has failed all of its commands; a server that accepts no writes refuses the whole call here
if not isDecided and outboxFault then error(outboxFault, 0) end
redis.call('HSET', generation, 'now', nowText, 'back', backText)
writeAll()
if reopened > 0 then replies[1] = lineage .. '.' .. redis.call('HINCRBY', generation, 'n', reopened) end
for i = 1, n do
  local decision = decisions[i]
  replies[i + 2] = type(decision) == 'table' and replyOf(decision) or decision
end
replies[n + 3] = waitText
for _, target in ipairs(changed) do
  if target.behind and not target.failure then
    replies[#replies + 1] = target.rule .. '\n' .. target.key .. '\n' .. numberText(target.behind) .. '\n' .. numberText(isOurs and target.reached or target.seq + target.shift)
  end
end
targets, entries, requested, changed, accepted, requests, returned, ofKey, dues = nil, nil, nil, nil, nil, nil, nil, nil, nil
return replies
