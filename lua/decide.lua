-- Decides up to 256 commands of one partition by rules of users: first all of them, then it stores what the accepted ones do.
-- Atomic, because a decision, its state, events and outbox must not come apart. Nothing is written while a rule runs, so that FUNCTION KILL stops one that never ends.
-- KEYS [1] outbox: stream, [2] tasks: sorted set, [3] generation: hash, [4..n+3] request of each command: string, without an id it is not stored, [n+4..] of each target: state: hash, events: stream, and what its rule keeps: members: hash, holds: sorted set, waiting: sorted set
-- ARGV [1] replication id of the primary that the caller sees, [2] expiry of requests, and of the outbox: ms, [3] expiry of ended keys: ms, [4] entries of the outbox above which nothing is decided if consumers need older ones than that, 0 = no bound, [5] targets: JSON array of rule and key, [6..n+5] of each command: JSON array of arguments and the number of its target, below 0 for a scheduled task, [n+6] of the commands that start work: JSON array of the ms that the oldest work of the partition may have waited and their numbers, empty = none
-- RETURNS generation, now in ms, then of each command a text, its lines: accepted, rejected, replay, other_body or failed; code, or why it failed; sequence; version; details as JSON; `refused` in place of the lines of one that starts work while that has waited longer; then that wait in ms, empty while no process drives the partition; a generation alone when it belongs to another replication id, or to call again; `backlog` in place of the commands when the outbox is full, `rules` when a rule is stored in another version, `back` when the clock went back; then of each key that was mended, lines: rule, key, the sequence of its state, that of its stream
-- COST O(n log N)
-- MODE writes
-- text of the rules, and what is stored about them, are put here when a system is opened
local rules, versions, keptEvents, parts = {}, {}, {}, {}
local outbox, tasks, generation, replicationId, expiry, keep, most, targetTexts, starts = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[#ARGV]
-- @include partition
if isBehind then return isFull() and { current, nowText, 'backlog' } or { current } end
-- @include kept
-- @include guards
-- @include own-rule
-- @include writing

local n = #ARGV - 6
local requests, accepted = redis.call('MGET', unpack(KEYS, 4, n + 3)), {}
local named, targets, made, firstKeys = cjson.decode(targetTexts), {}, {}, { n + 4 }
for i, target in ipairs(named) do
  local rule = target[1]
  firstKeys[i + 1] = firstKeys[i] + 2 + #(parts[rule] or {})
  if not made[rule] and redis.call('HGET', generation, 'rule:' .. rule) ~= versions[rule] then return { current, nowText, 'rules' } end
  made[rule] = true
end

-- what is written once all commands are decided; commands that the user may run
local entries, requested, reopened, allowed = {}, {}, 0, {}
-- @include own-target
-- @include before-writes

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
    entries[#entries + 1] = { target = target, request = request, seq = target.seq, version = target.version, event = event }
  end
  -- readers read the state again
  if #change.events == 0 then
    entries[#entries + 1] = { target = target, request = request, seq = 0, version = target.version, event = { 'type', '@changed' } }
  end
  local task = target.rule .. ' ' .. target.key .. ' '
  for name, due in pairs(change.tasks) do target.dues[task .. name] = due end
  for name, part in pairs(target.kept) do
    for one, value in pairs(change[name] or none) do setIn(part, one, name == 'holds' and steadyOf(value) or value) end
  end
  if change.holds then target.dues[task .. 'expire'] = firstHold(target.kept) or false end
  target.ends = target.ends or change.ends
  if change.reopens then reopened = reopened + 1 end
end

local function decided (status, code, target, details)
  return { status = status, code = code, target = target, seq = target.seq, version = target.version, details = details }
end

local function decide (i)
  local text, request = ARGV[i + 5], KEYS[i + 3]
  local args, id = cjson.decode(text), string.match(request, '[^:]*$')
  local number = table.remove(args)
  local target, body = targetOf(math.abs(number)), id ~= '' and redis.sha1hex(string.match(text, '^.*[,%[]'))
  local here, stored = accepted[request], requests[i] and { string.match(requests[i], '^(%x+)\n(.*)$') }
  if here or stored then
    if (here and here.body or stored[1]) ~= body then return decided('other_body', '', target, '{}') end
    return here and setmetatable({ status = 'replay' }, { __index = here }) or 'replay\n' .. stored[2]
  end
  if id ~= '' and string.find(target.done, id, 1, true) then
    error('an earlier call failed after it had stored events of this request, so it is not decided again; read the key', 0)
  end
  local task = number < 0 and target.rule .. ' ' .. target.key .. ' ' .. args[1]
  if task and (dueOf(target, task) or now + 1) > now then return decided('rejected', 'not_due', target, '{}') end
  local fields = {}
  for field, value in pairs(target.fields) do fields[field] = value end
  ofKey = target.kept
  local code, written, details, change = checked(ofKey, fields, made[target.rule](fields, args, now, parts[target.rule] and read))
  if change and starting[i] then return 'refused' end
  if change then expectWritable(target, written, change, request) end
  if task then
    expectTasks()
    target.dues[task] = false
  end
  if not change then return decided('rejected', code, target, details) end
  keepChange(target, written, change, id)
  local decision = decided('accepted', code, target, details)
  if id ~= '' then
    decision.body, accepted[request] = body, decision
    requested[#requested + 1] = request
  end
  return decision
end

local decisions, replies = {}, { current, nowText }
for i = 1, n do
  local ok, decision = pcall(decide, i)
  decisions[i] = ok and decision or 'failed\n' .. whyOf(decision)
end
redis.call('XLEN', outbox)
-- a server that accepts no writes refuses the whole call here
redis.call('HSET', generation, 'now', nowText, 'back', backText)
-- @include own-writes
replies[1] = (generationNow())
return replies
