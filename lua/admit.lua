-- Decides up to 256 commands of one partition, in order, and stores what the accepted ones do.
-- Atomic, because the decision, the new state, the events and the outbox must not come apart, nor another command come in between.
-- KEYS [1] outbox: stream, [2] tasks: sorted set, [3] generation: hash, [4..n+3] request of each command: string, without an id it is not stored, [n+4..] of each target: state: hash, events: stream, and if its rule keeps them, members: hash, holds: sorted set, waiting: sorted set
-- ARGV [1] replication id of the primary that the caller sees, [2] expiry of requests, and of the outbox: ms, [3] expiry of ended keys: ms, [4] entries of the outbox above which nothing is decided if consumers need older ones than that, 0 = no bound, [5] targets: JSON array of rule, key and number of keys that only its rule has, [6..n+5] of each command: JSON array of arguments of the rule and the number of its target, [n+6] of the commands that start work: JSON array of the ms that the oldest work of the partition may have waited and their numbers, empty = none
-- RETURNS generation, now in ms, then of each command a text, its lines: replay (1 or 0), code, sequence, version, detail and its value ...; `refused` in place of the lines of one that starts work while that has waited longer; then that wait in ms, empty while no process drives the partition; a generation alone when it belongs to another replication id; `backlog` in place of the commands when the outbox is full, `rules` when a rule is stored in another version, `back` when the clock went back; then of each key that was mended, lines: rule, key, the sequence of its state, that of its stream
-- COST O(n log N)
-- MODE writes
local outbox, tasks, generation, replicationId, expiry, keep, most, targetTexts, starts = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[#ARGV]
-- Each makes a rule, when a command needs it. A rule is as those of users (docs/own-systems.md): a function of state, args, now in ms and read, which returns a code, details and, if it accepts, a change. Its values are texts. What differs:
--   events   the rule numbers them (state.seq); an event with the number 0 goes to the outbox only
--   units    units of a user: user to how many more; `user <user>` in members
--   ends     the key expires
--   keeps    events of the key, about; without it, all; 0: its events are in the outbox only
--   reopens  a rejection that was final no longer is: the generation grows
local rules, versions = {}, {}
-- @include rules/max
-- @include rules/bounded
-- @include rules/latest
-- @include rules/once
-- @include rules/step

-- @include partition
if isBehind and isFull() then return { current, nowText, 'backlog' } end

local n = #ARGV - 6
local requests, accepted = redis.call('MGET', unpack(KEYS, 4, n + 3)), {}
local named, targets, made, firstKeys = cjson.decode(targetTexts), {}, {}, { n + 4 }
for i, one in ipairs(named) do
  local rule = one[1]
  firstKeys[i + 1] = firstKeys[i] + 2 + one[3]
  if rules[rule] and not made[rule] then
    if redis.call('HGET', generation, 'rule:' .. rule) ~= versions[rule] then return { current, nowText, 'rules' } end
    made[rule] = rules[rule]()
  end
end
-- a server that accepts no writes refuses the whole call here
redis.call('HSET', generation, 'now', nowText, 'back', backText)

-- @include kept
-- @include writing
-- @include our-writes
function read.lineage () return lineage end
-- Times of a state that are durations since they were given: a rule moves them when the clock went back since then.
function read.turnBack (state, names)
  local went = back - (state.back or 0)
  if went == 0 then return end
  for _, name in ipairs(names) do
    if state[name] then state[name] = string.format('%.0f', math.max(0, state[name] - went)) end
  end
  state.back = backText
end

-- its state is read once a call; a rule changes a table in front of it, which is dropped unless the command is accepted
local function targetOf (number)
  if targets[number] then return targets[number] end
  local first, last, fields = firstKeys[number], firstKeys[number + 1] - 1, {}
  local state, events, members, holds, waiting = unpack(KEYS, first, last)
  local flat = redis.call('HGETALL', state)
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  local rule, key, kept = named[number][1], named[number][2], members and { members = { key = members }, holds = { key = holds }, waiting = { key = waiting } }
  targets[number] = { rule = rule, key = key, first = first, last = last, state = state, events = events, members = members, holds = holds, waiting = waiting,
    kept = kept, fields = fields, front = { __index = fields } }
  -- a part that is written after the end needs an expiry, too
  if members and fields.status == 'closed' then targets[number].ends = redis.call('PTTL', state) > 0 end
  return targets[number]
end

local function decide (i)
  local args, request = cjson.decode(ARGV[i + 5]), KEYS[i + 3]
  local target = targetOf(table.remove(args))
  local id = string.match(request, '[^:]*$')
  local known = accepted[request] or requests[i]
  if known then
    local body, decision = string.match(known, '^(%x+)\n(.*)$')
    return body == redis.sha1hex(table.concat(args, '\n')) and '1\n' .. decision or '0\nother_body\n0\n0'
  end
  local seen = target.fields['@done']
  if seen and id ~= '' and string.find(seen, id, 1, true) then
    error('an earlier call failed after it had stored events of this request, so it is not decided again', 0)
  end
  local fields = setmetatable({}, target.front)
  ofKey = target.kept
  local code, details, change = made[target.rule](fields, args, now, read)
  if not change then return '0\n' .. table.concat(flat({ code, fields.seq or '0', fields.version or '0' }, details), '\n') end
  if starting[i] then return 'refused' end
  fields.version = string.format('%.0f', (fields.version or 0) + 1)
  local decision = table.concat(flat({ code, fields.seq or '0', fields.version }, details), '\n')
  local stored = id ~= '' and redis.sha1hex(table.concat(args, '\n')) .. '\n' .. decision
  expectWritable(target, change, request)
  done.events, done.entries, done.units, done.hasState = 0, 0, nil, false
  local ok, why = pcall(store, target, fields, change, id, request, stored)
  if not ok and isBehindOutbox() then ok, why = pcall(store, target, fields, change, id, request, stored) end
  if not ok then
    local isUndone, isAgain = pcall(undo, target, fields, change, stored, request)
    if isUndone and isAgain then return decide(i) end
    error(why, 0)
  end
  for field, value in pairs(fields) do target.fields[field] = value end
  if stored then accepted[request] = stored end
  return '0\n' .. decision
end

local replies = { current, nowText }
for i = 1, n do
  local ok, decision = pcall(decide, i)
  replies[i + 2] = ok and decision or '0\nfailed\n0\n0\nreason\n' .. string.gsub(tostring(decision), '\n', ' ')
end
replies[n + 3] = waitText
for _, line in ipairs(mended) do replies[#replies + 1] = line end
replies[1] = (generationNow())
return replies
