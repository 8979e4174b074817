/**
 * Written from lua/ by `npm run lua`; change the files there. Names are those of the files, without their ending.
 * @type {Readonly<Record<string, string>>}
 */
export const LUA = Object.freeze({
  'admit': `-- Decides up to 256 commands of one partition, in order, and stores what the accepted ones do.
-- Atomic, because the decision, the new state, the events and the outbox must not come apart, nor another command come in between.
-- KEYS [1] outbox: stream, [2] tasks: sorted set, [3] generation: hash, [4..n+3] request of each command: string, without an id it is not stored, [n+4..] of each target: state: hash, events: stream, and if its rule keeps them, members: hash, holds: sorted set, waiting: sorted set
-- ARGV [1] replication id of the primary that the caller sees, [2] expiry of requests, and of the outbox: ms, [3] expiry of ended keys: ms, [4] entries of the outbox above which nothing is decided if consumers need older ones than that, 0 = no bound, [5] targets: JSON array of rule, key and number of keys that only its rule has, [6..n+5] of each command: JSON array of arguments of the rule and the number of its target, [n+6] of the commands that start work: JSON array of the ms that the oldest work of the partition may have waited and their numbers, empty = none
-- RETURNS generation, now in ms, then of each command a text, its lines: replay (1 or 0), code, sequence, version, detail and its value ...; \`refused\` in place of the lines of one that starts work while that has waited longer; then that wait in ms, empty while no process drives the partition; a generation alone when it belongs to another replication id; \`backlog\` in place of the commands when the outbox is full, \`rules\` when a rule is stored in another version, \`back\` when the clock went back; then of each key that was mended, lines: rule, key, the sequence of its state, that of its stream
-- COST O(n log N)
-- MODE writes
local outbox, tasks, generation, replicationId, expiry, keep, most, targetTexts, starts = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[#ARGV]
-- Each makes a rule, when a command needs it. A rule is as those of users (docs/own-systems.md): a function of state, args, now in ms and read, which returns a code, details and, if it accepts, a change. Its values are texts. What differs:
--   events   the rule numbers them (state.seq); an event with the number 0 goes to the outbox only
--   units    units of a user: user to how many more; \`user <user>\` in members
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
    local body, decision = string.match(known, '^(%x+)\\n(.*)$')
    return body == redis.sha1hex(table.concat(args, '\\n')) and '1\\n' .. decision or '0\\nother_body\\n0\\n0'
  end
  local seen = target.fields['@done']
  if seen and id ~= '' and string.find(seen, id, 1, true) then
    error('an earlier call failed after it had stored events of this request, so it is not decided again', 0)
  end
  local fields = setmetatable({}, target.front)
  ofKey = target.kept
  local code, details, change = made[target.rule](fields, args, now, read)
  if not change then return '0\\n' .. table.concat(flat({ code, fields.seq or '0', fields.version or '0' }, details), '\\n') end
  if starting[i] then return 'refused' end
  fields.version = string.format('%.0f', (fields.version or 0) + 1)
  local decision = table.concat(flat({ code, fields.seq or '0', fields.version }, details), '\\n')
  local stored = id ~= '' and redis.sha1hex(table.concat(args, '\\n')) .. '\\n' .. decision
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
  return '0\\n' .. decision
end

local replies = { current, nowText }
for i = 1, n do
  local ok, decision = pcall(decide, i)
  replies[i + 2] = ok and decision or '0\\nfailed\\n0\\n0\\nreason\\n' .. string.gsub(tostring(decision), '\\n', ' ')
end
replies[n + 3] = waitText
for _, line in ipairs(mended) do replies[#replies + 1] = line end
replies[1] = (generationNow())
return replies
`,
  'advance': `-- Stores how far a consumer has got in an outbox, if the process that says so still owns the partition.
-- Atomic, because the token must be the owner's at the moment the cursor moves; and the lowest cursor bounds what is trimmed.
-- KEYS [1] owner: hash, [2] cursors: hash of consumers, [3] generation: hash, [4] outbox: stream
-- ARGV [1] token, [2] name of the consumer, [3] id of the last finished entry
-- RETURNS integer, 1 if it was stored; 0 if the token is an older one; -1 if the outbox has no such entry: it was lost with the primary that it was read from
-- COST O(n) of consumers
-- MODE writes
local owner, cursors, generation, outbox, token, name, entry = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2], ARGV[3]
if redis.call('HGET', owner, 'token') ~= token then return 0 end
if entry ~= '0-0' and #redis.call('XRANGE', outbox, entry, entry) == 0 then return -1 end
redis.call('HSET', cursors, name, entry)
local function isBefore (id, other)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  local otherMs, otherN = string.match(other, '^(%d+)-(%d+)$')
  if ms ~= otherMs then return tonumber(ms) < tonumber(otherMs) end
  return tonumber(n) < tonumber(otherN)
end
local least = entry
for _, id in ipairs(redis.call('HVALS', cursors)) do
  if isBefore(id, least) then least = id end
end
redis.call('HSET', generation, 'finished', least)
return 1
`,
  'agree-rules': `-- Stores version and digest of rules, unless one of them is stored with a higher version, or with another text in the same one.
-- Atomic, because of processes with different rules only one may find its own stored.
-- KEYS [1] where they are stored: hash
-- ARGV [1..3n] of each rule: name, version, digest
-- RETURNS name and stored version of each rule that differs; nothing was stored then
-- COST O(n)
-- MODE writes
local stored, differing, flat = KEYS[1], {}, {}
for i = 1, #ARGV, 3 do
  local name, version, digest = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local own, found = version .. ' ' .. digest, redis.call('HGET', stored, 'rule:' .. name) or ''
  local known, knownDigest = string.match(found, '^(%d+) (%x+)$')
  if known and (tonumber(known) > tonumber(version) or (known == version and knownDigest ~= digest)) then
    differing[#differing + 1] = name
    differing[#differing + 1] = known
  end
  if found ~= own then
    flat[#flat + 1] = 'rule:' .. name
    flat[#flat + 1] = own
  end
end
if #differing == 0 and #flat > 0 then redis.call('HSET', stored, unpack(flat)) end
return differing
`,
  'append-newest': `-- Appends versions of items and keeps the newest of each id, deletions included. Of equal versions the later append wins.
-- Atomic, because another writer may store a newer version between the comparison and the write.
-- KEYS [1] ids: sorted set, [2] deletions: string, exists while an id may have a tombstone, [3..n+2] item keys, of the same slot, unless MSETEX takes them
-- ARGV [1] n: integer, 1 to 996, [2] expiry in ms: integer, 0 = none, [3] expiry of tombstones in ms: integer, [4] whether the batch has deletions: 1 or 0, [5..2n+4] item key and record (8 bytes of order, lowest bit: a deletion, then the value) n times, records only if the keys are in KEYS, then PX and the expiry if there is one, then score and id n times
-- RETURNS array of integers: versions dropped because a newer one was there, bytes of their values; an error if a permission is missing
-- COST O(n log N); in Lua O(n) only when some version is not newer, an id is new while there are tombstones, or MSETEX cannot be used
-- MODE writes
local ids, deletions, n, ttl, tombstone, deletes = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local msetex = #KEYS == 2
local step = msetex and 2 or 1
local first = step * n + (ttl > 0 and 7 or 5)
local px, written = ttl > 0 and {'PX', ttl} or {}, {}
local function key (i) return msetex and ARGV[3 + 2 * i] or KEYS[2 + i] end
local function record (i) return ARGV[4 + step * i] end
local function set (i) local name = key(i) redis.call('SET', name, record(i), unpack(px)) end
local function keep (i) if msetex then written[#written + 1], written[#written + 2] = key(i), record(i) else set(i) end end
local function setAll (count, list, from, to)
  if ttl > 0 then redis.call('MSETEX', count, unpack(list, from, to)) else redis.call('MSET', unpack(list, from, to)) end
end
-- @include order
-- a permission that is revoked from a running writer must not leave a score without its value
local needed = {{'PEXPIRE', ids, 1}, {'PTTL', deletions}, {'ZMSCORE', ids, ''}, {'GETRANGE', ids, 0, 7}, {'SET', ids, ''}, {'ZREM', ids, ''}}
if msetex then needed[7] = ttl > 0 and {'MSETEX', 1, ids, ''} or {'MSET', ids, ''} end
for _, words in ipairs(needed) do
  if not redis.acl_check_cmd(unpack(words)) then
    return {err = "NOPERM this user has no permissions to run the '" .. string.lower(words[1]) .. "' command"}
  end
end
local size = redis.call('ZCARD', ids)
local changed = redis.call('ZADD', ids, 'GT', 'CH', unpack(ARGV, first))
if ttl > 0 then redis.call('PEXPIRE', ids, ttl) end
if changed == n and not deletes and (redis.call('ZCARD', ids) == size or redis.call('PTTL', deletions) == -2) then
  -- each version is newer than what was there, and none is older than a tombstone
  if msetex then setAll(n, ARGV, 5, first - 1) else for i = 1, n do set(i) end end
  return {0, 0}
end
local members, scores, newest = {}, {}, {}
for i = 1, n do
  local member, score = ARGV[first + 2 * i - 1], tonumber(ARGV[first + 2 * i - 2])
  members[i], scores[i] = member, score
  if not newest[member] or score >= scores[newest[member]] then newest[member] = i end
end
local stored, hasTombstones = redis.call('ZMSCORE', ids, unpack(members)), redis.call('PTTL', deletions) ~= -2
local before, late, bytes, deleted = {}, 0, 0, false
for i = 1, n do
  local name, member, score, last = key(i), members[i], scores[i], newest[members[i]]
  if not before[member] then
    before[member] = tonumber(stored[i])
    if before[member] == scores[last] then
      -- added or replaced by ZADD above; what was there stands in the key
      before[member] = (hasTombstones or last > i) and order(redis.call('GETRANGE', name, 0, 7)) or -1
      if before[member] > scores[last] then redis.call('ZREM', ids, member) end
    end
  end
  if score < before[member] then
    late, bytes = late + 1, bytes + #record(i) - 8
  else
    before[member] = score
    if i == last and string.byte(record(i), 8) % 2 == 1 then
      redis.call('SET', name, record(i), 'PX', tombstone)
      redis.call('ZREM', ids, member)
      deleted = true
    elseif i == last then
      keep(i)
    end
  end
end
written[#written + 1], written[#written + 2] = px[1], px[2]
if #written > #px then setAll((#written - #px) / 2, written, 1, #written) end
if deleted and redis.call('PTTL', deletions) < tonumber(tombstone) then redis.call('SET', deletions, 1, 'PX', tombstone) end
return {late, bytes}
`,
  'attempt': `-- Counts an attempt at entries of an outbox before their effect, or takes the last one back.
-- Atomic, because only the owner may count, and no attempt may begin above the limit.
-- KEYS [1] owner: hash, [2] attempts: hash of consumers
-- ARGV [1] token, [2] name of the consumer, [3] id of the first entry, [4] attempts that may begin: integer, 0 = the last one is taken back
-- RETURNS integer, the attempts at this first entry that count; -1 if that many have begun before; -2 if the token is an older one
-- COST O(1)
-- MODE writes
local owner, attempts, token, name, entry, most = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('HGET', owner, 'token') ~= token then return -2 end
local known, count = string.match(redis.call('HGET', attempts, name) or '', '^(%S+) (%d+)$')
local n = known == entry and tonumber(count) or 0
if most > 0 and n >= most then return -1 end
n = most > 0 and n + 1 or math.max(0, n - 1)
redis.call('HSET', attempts, name, entry .. ' ' .. n)
return n
`,
  'begin-lineage': `-- Begins a lineage of a partition for another primary, unless that was done since.
-- Atomic, because of several processes that see the new primary one begins the lineage.
-- KEYS [1] generation: hash
-- ARGV [1] replication id, [2] the generation that the caller found, [3] lineage: random, [4] 1 = consumers must read the outbox, so nothing is trimmed before they do
-- RETURNS integer, 1 if it was begun
-- COST O(1)
-- MODE writes
local generation, replicationId, before, lineage, isRead = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local known = redis.call('HMGET', generation, 'replid', 'lineage', 'n', 'finished')
local now = known[2] and known[2] .. '.' .. known[3] or ''
if known[1] == replicationId or now ~= before then return 0 end
redis.call('HSET', generation, 'replid', replicationId, 'lineage', lineage, 'n', 0)
if isRead == '1' and not known[4] then redis.call('HSET', generation, 'finished', '0-0') end
return 1
`,
  'compile-rule': `-- Compiles the text of a rule, which must be whole by itself; or runs the chunk of a rule, which must return a function.
-- Atomic, because it touches nothing.
-- KEYS none
-- ARGV [1] text, [2] without a text: the name of the rule
-- RETURNS what is wrong with it, empty if nothing is
-- COST O(n)
-- MODE read
-- the chunks are put here
local rules = {}
local text, name = ARGV[1], ARGV[2]
-- @include guards
if text ~= '' then
  local compiled, why = loadstring(text, '=user_script')
  return compiled and '' or string.sub(why, 1, 4096)
end
local ok, rule = pcall(rules[name], guards())
if not ok then return string.sub(tostring(rule), 1, 4096) end
return type(rule) == 'function' and '' or 'it returns a ' .. type(rule) .. '; expected a function (state, args, now)'
`,
  'decide': `-- Decides up to 256 commands of one partition by rules of users: first all of them, then it stores what the accepted ones do.
-- Atomic, because a decision, its state, events and outbox must not come apart. Nothing is written while a rule runs, so that FUNCTION KILL stops one that never ends.
-- KEYS [1] outbox: stream, [2] tasks: sorted set, [3] generation: hash, [4..n+3] request of each command: string, without an id it is not stored, [n+4..] of each target: state: hash, events: stream, and what its rule keeps: members: hash, holds: sorted set, waiting: sorted set
-- ARGV [1] replication id of the primary that the caller sees, [2] expiry of requests, and of the outbox: ms, [3] expiry of ended keys: ms, [4] entries of the outbox above which nothing is decided if consumers need older ones than that, 0 = no bound, [5] targets: JSON array of rule and key, [6..n+5] of each command: JSON array of arguments and the number of its target, below 0 for a scheduled task, [n+6] of the commands that start work: JSON array of the ms that the oldest work of the partition may have waited and their numbers, empty = none
-- RETURNS generation, now in ms, then of each command a text, its lines: accepted, rejected, replay, other_body or failed; code, or why it failed; sequence; version; details as JSON; \`refused\` in place of the lines of one that starts work while that has waited longer; then that wait in ms, empty while no process drives the partition; a generation alone when it belongs to another replication id, or to call again; \`backlog\` in place of the commands when the outbox is full, \`rules\` when a rule is stored in another version, \`back\` when the clock went back; then of each key that was mended, lines: rule, key, the sequence of its state, that of its stream
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
  local here, stored = accepted[request], requests[i] and { string.match(requests[i], '^(%x+)\\n(.*)$') }
  if here or stored then
    if (here and here.body or stored[1]) ~= body then return decided('other_body', '', target, '{}') end
    return here and setmetatable({ status = 'replay' }, { __index = here }) or 'replay\\n' .. stored[2]
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
  decisions[i] = ok and decision or 'failed\\n' .. whyOf(decision)
end
redis.call('XLEN', outbox)
-- a server that accepts no writes refuses the whole call here
redis.call('HSET', generation, 'now', nowText, 'back', backText)
-- @include own-writes
replies[1] = (generationNow())
return replies
`,
  'heartbeat': `-- Says that a process of consumers lives, and which others do.
-- Atomic, because all of them must reckon with one clock.
-- KEYS [1] consumers: sorted set by time of the last heartbeat
-- ARGV [1] id of the process, [2] 1 = it lives, 0 = it leaves, [3] ms after which one without a heartbeat is gone
-- RETURNS ids of those that live
-- COST O(log N + n)
-- MODE writes
local consumers, id, lives, gone = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if lives == '1' then redis.call('ZADD', consumers, now, id) else redis.call('ZREM', consumers, id) end
redis.call('ZREMRANGEBYSCORE', consumers, '-inf', string.format('%.0f', now - gone))
-- heartbeats that came while the clock was ahead count as new ones
for _, ahead in ipairs(redis.call('ZRANGEBYSCORE', consumers, string.format('(%.0f', now), '+inf')) do redis.call('ZADD', consumers, now, ahead) end
return redis.call('ZRANGE', consumers, 0, -1)
`,
  'includes/before-writes': `-- What can be known of the writes of a command before the first one: types of keys, and permissions. Its decision fails here, with nothing stored.
-- The server has checked all keys of the call.
local function expectAllowed (command, key, ...)
  if allowed[command] then return end
  if mayRun and not mayRun(command, key, ...) then error('NOPERM the user may not run ' .. command, 0) end
  allowed[command] = true
end

local function expectTasks ()
  if not allowed.ZREM then redis.call('ZCARD', tasks) end
  expectAllowed('ZADD', tasks, '1', 'a')
  expectAllowed('ZREM', tasks, 'a')
end

-- its reads have found the types of the others
local function expectType (name, key)
  if name == 'members' then redis.call('HGET', key, '') else redis.call('ZCARD', key) end
end

local function expectParts (target, change)
  for name, part in pairs(target.kept) do
    local key = part.key
    if change[name] and not part.changed then
      expectType(name, key)
      if name == 'members' then
        expectAllowed('HSET', key, 'a', 'b')
        expectAllowed('HDEL', key, 'a')
      else
        expectAllowed('ZADD', key, '1', 'a')
        expectAllowed('ZREM', key, 'a')
      end
    end
  end
  if change.holds then firstHold(target.kept) end
end

-- A key that has ended has an expiry; a part that is written later needs one, too.
local function expectEnd (target, change)
  local state = target.state
  if target.version > 0 and target.ends == nil then target.ends = redis.call('PTTL', state) > 0 end
  if target.ends or change.ends then expectAllowed('PEXPIRE', state, '1') end
end

local function expectWritable (target, fields, change, request)
  local state, events = target.state, target.events
  expectAllowed('HSET', state, 'a', 'b')
  for field in pairs(target.fields) do
    if fields[field] == nil then expectAllowed('HDEL', state, 'a') end
  end
  if #change.events > 0 then expectAllowed('XADD', events, '*', 'a', 'b') end
  if keptEvents[target.rule] then expectAllowed('XTRIM', events, 'MAXLEN', '1') end
  expectAllowed('XADD', outbox, '*', 'a', 'b')
  if string.sub(request, -1) ~= ':' then expectAllowed('SET', request, 'a', 'PX', '1') end
  if change.reopens then expectAllowed('HINCRBY', generation, 'n', '1') end
  if next(change.tasks) or change.holds then expectTasks() end
  expectParts(target, change)
  expectEnd(target, change)
end
`,
  'includes/clock': `-- TIME, what it was when the partition last noted it, and by how much it went back in all
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local noted = redis.call('HMGET', generation, 'now', 'back')
local last, back = tonumber(noted[1] or '0'), tonumber(noted[2] or '0')
`,
  'includes/guards': `-- What rules of users get in place of functions of Lua that could keep the server in one call, which FUNCTION KILL does not stop.
local guards
do
-- @include pattern-limit
local MOST_BYTES, limits, limitsOfGmatch = 1048576, {}, {}
local gsub, gmatch, rep, concat, sort, textOfNumber, metatableOf = string.gsub, string.gmatch, string.rep, table.concat, table.sort, tostring, getmetatable

-- what a function of Lua returned, or its error, at the line of the rule; an error with a line is that of a function of the rule
local function resultOf (name, ok, ...)
  if ok then return ... end
  local why = ...
  if type(why) == 'string' and find(why, '^@?user_%w+:%d+:') then error(why, 0) end
  error(type(why) == 'string' and gsub(why, "^bad argument #(%d+) to '%?'", "bad argument #%1 to '" .. name .. "'") or why, 3)
end

local function expectBounded (name, s, p, isPlain)
  if type(s) == 'number' then s = textOfNumber(s) end
  if type(p) == 'number' then p = textOfNumber(p) end
  if type(s) ~= 'string' or type(p) ~= 'string' or #s <= 24 and #p <= 16 then return end
  local known = name == 'gmatch' and limitsOfGmatch or limits
  local limit = isPlain and floor(MOST_STEPS / ceil((#p + 1) / 100)) or known[p]
  if not limit then
    limit = patternLimit(p, name == 'gmatch')
    known[p] = limit
  end
  if #s <= limit then return end
  error(name .. " refuses a text of " .. #s .. " bytes: the pattern '" .. sub(p, 1, 100) .. "' could keep the server for too long from " ..
    string.format('%.0f', limit + 1) .. ' bytes on; shorten the text, or use fewer repeats and ^', 3)
end

local function failAbove (name, level)
  error(name .. ' refuses to make a text of more than ' .. MOST_BYTES .. ' bytes', level)
end

-- a replacement that counts what it adds
local function counted (replace, size)
  return function (...)
    local value
    if type(replace) == 'table' then value = replace[(...)] else value = replace(...) end
    local kind = type(value)
    if kind == 'string' or kind == 'number' then size = size + #textOfNumber(value) end
    if size > MOST_BYTES then failAbove('gsub', 0) end
    return value
  end
end

local function expectShort (s, p, text, most)
  local _, marks = gsub(text, '%%', '')
  local fixed = #s * (1 + marks)
  if fixed + (#s + 1) * #text <= MOST_BYTES then return end
  local ok, _, matches = pcall(gsub, s, p, '', most)
  if ok and fixed + matches * #text > MOST_BYTES then failAbove('gsub', 4) end
end

-- \`isBoxed\`: called as a method of a text, which comes in a table
local function guarded (isBoxed)
  local lib = {}

  function lib.find (s, p, init, isPlain)
    if isBoxed then s = s[1] end
    expectBounded('find', s, p, isPlain)
    return resultOf('find', pcall(find, s, p, init, isPlain))
  end

  function lib.match (s, ...)
    if isBoxed then s = s[1] end
    expectBounded('match', s, (...))
    return resultOf('match', pcall(match, s, ...))
  end

  function lib.gmatch (s, ...)
    if isBoxed then s = s[1] end
    expectBounded('gmatch', s, (...))
    return resultOf('gmatch', pcall(gmatch, s, ...))
  end

  function lib.gsub (s, p, replace, ...)
    if isBoxed then s = s[1] end
    expectBounded('gsub', s, p)
    local kind = type(replace)
    local isCounted = kind == 'table' or kind == 'function'
    if kind == 'string' and type(s) == 'string' and type(p) == 'string' then expectShort(s, p, replace, ...) end
    return resultOf('gsub', pcall(gsub, s, p, isCounted and counted(replace, #textOfNumber(s)) or replace, ...))
  end

  function lib.rep (s, ...)
    if isBoxed then s = s[1] end
    local count, size = tonumber((...)), #textOfNumber(s)
    if count and size == 0 then return '' end
    if count and size * count > MOST_BYTES then failAbove('rep', 3) end
    return resultOf('rep', pcall(rep, s, ...))
  end

  return lib
end

local function joined (list, separator, first, last)
  if type(list) == 'table' then
    local size, between = 0, #textOfNumber(separator or '')
    for i = tonumber(first) or 1, tonumber(last) or #list do
      local part = rawget(list, i)
      if type(part) ~= 'string' and type(part) ~= 'number' then break end
      size = size + #textOfNumber(part)
      if size > MOST_BYTES then failAbove('concat', 3) end
      size = size + between
    end
  end
  return resultOf('concat', pcall(concat, list, separator, first, last))
end

local function less (a, b) return a < b end

-- a comparison in Lua can be stopped
local function sorted (list, before)
  local isLong = before == nil and type(list) == 'table' and #list > 1000
  return resultOf('sort', pcall(sort, list, isLong and less or before))
end

local function trim (s)
  if type(s) ~= 'string' and type(s) ~= 'number' then error("bad argument #1 to 'trim' (string expected, got " .. type(s) .. ')', 2) end
  local first = match(s, '^%s*()')
  return sub(s, first, math.max(first - 1, #textOfNumber(s) + 1 - match(string.reverse(s), '^%s*()')))
end

local ofTexts, ofMethods = guarded(false), { __index = guarded(true) }

local function copyOf (functions, changed)
  local made = {}
  for name, value in pairs(functions) do made[name] = changed[name] or value end
  return made
end

local function resultsOf (...) return ... end

-- the arguments of the chunk of a rule (src/admission/rule-text.js)
function guards ()
  local strings = copyOf(string, ofTexts)
  local function visibleMetatable (value)
    if type(value) == 'string' then return nil end
    return metatableOf(value)
  end
  local function fieldsOf (value)
    if type(value) == 'string' then return strings end
    return value
  end
  local function methodsOf (value)
    if type(value) == 'string' then return setmetatable({ value }, ofMethods) end
    return value
  end
  return strings, copyOf(table, { concat = joined, sort = sorted }), visibleMetatable, trim, fieldsOf, methodsOf, resultsOf
end
end
`,
  'includes/kept': `-- What a rule keeps of a key besides its state and events: parts { key, changed }. Changes are in memory until they are written, and reads see them.
local none = {}
-- Holds are durations, so their scores are on the steady clock of the partition; rules give and get times on the server's.
local function steadyOf (due) return due and string.format('%.0f', due + back) end
local function timeOf (score) return score and string.format('%.0f', score - back) end

local function changedOf (part) return part.changed or none end

local function expectText (name)
  if type(name) ~= 'string' then error('a name to read is a ' .. type(name) .. '; expected a text', 0) end
end

local function setIn (part, name, value)
  part.changed = part.changed or {}
  part.changed[name] = value or false
end

local function scoreIn (part, name)
  expectText(name)
  local key, score = part.key, changedOf(part)[name]
  if score == nil then return redis.call('ZSCORE', key, name) end
  return score
end

-- names and scores up to a bound, the lowest first
local function lowestIn (part, most, bound)
  local key, changed, count, found = part.key, changedOf(part), most, {}
  for _ in pairs(changed) do count = count + 1 end
  local flat = redis.call('ZRANGEBYSCORE', key, '-inf', bound, 'LIMIT', 0, count, 'WITHSCORES')
  for i = 1, #flat, 2 do
    if changed[flat[i]] == nil then found[#found + 1] = { flat[i], flat[i + 1] } end
  end
  if count == most then return found end
  for name, score in pairs(changed) do
    if score and (bound == '+inf' or tonumber(score) <= tonumber(bound)) then found[#found + 1] = { name, score } end
  end
  table.sort(found, function (a, b)
    local one, other = tonumber(a[2]), tonumber(b[2])
    return one < other or one == other and a[1] < b[1]
  end)
  for i = most + 1, #found do found[i] = nil end
  return found
end

-- how many names have a score below a bound
local function countIn (part, bound)
  local key = part.key
  local count = bound == '+inf' and redis.call('ZCARD', key) or redis.call('ZCOUNT', key, '-inf', '(' .. bound)
  local function isBelow (score) return score and (bound == '+inf' or tonumber(score) < tonumber(bound)) and 1 or 0 end
  for name, score in pairs(changedOf(part)) do count = count + isBelow(score) - isBelow(redis.call('ZSCORE', key, name)) end
  return count
end

local function writeKept (kept)
  for name, part in pairs(kept) do
    local key = part.key
    for one, value in pairs(changedOf(part)) do
      if name == 'members' and value then redis.call('HSET', key, one, value)
      elseif name == 'members' then redis.call('HDEL', key, one)
      elseif value then redis.call('ZADD', key, value, one)
      else redis.call('ZREM', key, one) end
    end
    part.changed = nil
  end
end

local function firstHold (kept) return timeOf((lowestIn(kept.holds, 1, '+inf')[1] or none)[2]) end

-- what the rule of the command that is decided reads with; what is not there is false
local ofKey
local read = {}
local function names (found)
  for i, one in ipairs(found) do found[i] = one[1] end
  return found
end
function read.member (name)
  expectText(name)
  local key, value = ofKey.members.key, changedOf(ofKey.members)[name]
  if value == nil then return redis.call('HGET', key, name) end
  return value
end
function read.holdUntil (name) return timeOf(scoreIn(ofKey.holds, name)) end
function read.firstHold () return firstHold(ofKey) end
function read.holdsDue (before, most) return names(lowestIn(ofKey.holds, most, before == '+inf' and before or steadyOf(before))) end
function read.waiting (most) return names(lowestIn(ofKey.waiting, most, '+inf')) end
function read.waitingCount () return countIn(ofKey.waiting, '+inf') end
function read.position (name)
  local place = scoreIn(ofKey.waiting, name)
  return place and countIn(ofKey.waiting, place) + 1
end
`,
  'includes/less': `-- Compares two byte strings. The operator < would use the locale of the server.
local function less (a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
`,
  'includes/order': `local function order (head)
  if #head < 8 then return -1 end
  local a, b, c, d, e, f, g, h = string.byte(head, 1, 8)
  return ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f + (g * 16 + math.floor(h / 16)) / 4096
end
`,
  'includes/our-writes': `-- Writes a command of a rule of ours. What can be known is checked before the first write; if one fails all the same, the others are undone.
local function flat (list, fields)
  for name, value in pairs(fields) do
    list[#list + 1] = name
    list[#list + 1] = value
  end
  return list
end

local function schedule (task, due)
  if due then redis.call('ZADD', tasks, due, task) else redis.call('ZREM', tasks, task) end
end

-- What is known before the first write, asked once a call. The server has checked all keys of it; rules read members before they change them, so their type is known.
local may = {}
local function expectWritable (target, change, request)
  local state, events, members, holds, waiting = target.state, target.events, target.members, target.holds, target.waiting
  local isAllowed = true
  if mayRun and not may[target.rule] then
    redis.call('XLEN', outbox)
    isAllowed = mayRun('XADD', change.keeps == 0 and outbox or events, '*', 'a', 'b') and mayRun('HSET', state, 'a', 'b') and mayRun('SET', request, 'a') and
      not (members and not (mayRun('HDEL', members, 'a') and mayRun('HINCRBY', members, 'a', '1')))
    may[target.rule] = isAllowed
  end
  if mayRun and not may.ZADD and (change.holds or change.tasks and next(change.tasks)) then
    redis.call('ZCARD', tasks)
    may.ZADD = mayRun('ZREM', tasks, 'a') and mayRun('ZADD', holds or tasks, '1', 'a')
    isAllowed = isAllowed and may.ZADD
  end
  if mayRun and (change.ends and not mayRun('PEXPIRE', state, '1') or change.reopens and not mayRun('HINCRBY', generation, 'n', '1')) then isAllowed = false end
  if not isAllowed then error('NOPERM the user may not run all commands of ' .. target.rule .. '; see docs/acl', 0) end
  if change.holds and not target.hasHolds and next(change.holds) then target.hasHolds = redis.call('ZCARD', holds) end
  if change.waiting and not target.hasWaiting and next(change.waiting) then target.hasWaiting = redis.call('ZCARD', waiting) end
end

-- how far the writes of a command are: events in their stream and in the outbox, their ids there, units counted, state
local done, mended = { ids = {} }, {}
local function store (target, changed, change, id, request, stored)
  local state, events, members, holds, waiting = target.state, target.events, target.members, target.holds, target.waiting
  local task = target.rule .. ' ' .. target.key .. ' '
  for i = done.entries + 1, #change.events do
    local event = change.events[i]
    local fields = flat({}, event)
    -- an event without a sequence number is for the outbox only
    if i > done.events and event.seq ~= '0' and change.keeps ~= 0 then redis.call('XADD', events, event.seq .. '-0', 'ts', nowText, 'request', id, unpack(fields)) end
    done.events = i
    if (change.keeps or 0) > 0 then redis.call('XTRIM', events, 'MAXLEN', '~', change.keeps) end
    done.ids[i] = redis.call('XADD', outbox, 'MINID', '~', since, outboxMs .. '-*', 'rule', target.rule, 'key', target.key, 'ts', nowText, 'request', id, unpack(fields))
    done.entries = i
  end
  -- before the state, so that it is not decided twice
  if stored then redis.call('SET', request, stored, 'PX', expiry) end
  for user, more in pairs(change.units or none) do
    if redis.call('HINCRBY', members, 'user ' .. user, more) == 0 then redis.call('HDEL', members, 'user ' .. user) end
    done.units = done.units or {}
    done.units[user] = more
  end
  done.hasState = true
  redis.call('HSET', state, unpack(flat({}, changed)))
  for name, due in pairs(change.tasks or none) do schedule(task .. name, due) end
  for name, value in pairs(change.members or none) do
    if value then redis.call('HSET', members, name, value) else redis.call('HDEL', members, name) end
  end
  for name, due in pairs(change.holds or none) do
    if due then redis.call('ZADD', holds, steadyOf(due), name) else redis.call('ZREM', holds, name) end
  end
  for user, place in pairs(change.waiting or none) do
    if place then redis.call('ZADD', waiting, place, user) else redis.call('ZREM', waiting, user) end
  end
  if change.holds then schedule(task .. 'expire', timeOf(redis.call('ZRANGE', holds, 0, 0, 'WITHSCORES')[2])) end
  if change.ends or target.ends then
    target.ends = true
    for i = target.first, target.last do redis.call('PEXPIRE', KEYS[i], keep) end
  end
  if change.reopens then redis.call('HINCRBY', generation, 'n', 1) end
end

-- The outbox is ahead if a clock was. Whether the writes can go on behind it.
local function isBehindOutbox ()
  if done.entries == done.events then return false end
  local before = outboxMs
  outboxMs = lastMsOf(outbox)
  return outboxMs ~= before
end

-- Undoes the writes of a command of which one failed. Whether it is decided again: the stream of its key is ahead of its state if a call ended between its writes, or another program wrote to it. The key goes on behind it, and requests that stored one of these events are not decided again.
local function undo (target, changed, change, stored, request)
  local state, events, members, isHere = target.state, target.events, target.members, change.keeps ~= 0
  if stored then redis.call('PEXPIRE', request, 0) end
  for field in pairs(done.hasState and changed or none) do
    local value = target.fields[field]
    if value then redis.call('HSET', state, field, value) else redis.call('HDEL', state, field) end
  end
  for user, more in pairs(done.units or none) do redis.call('HINCRBY', members, 'user ' .. user, -more) end
  for i = 1, done.entries do redis.call('XDEL', outbox, done.ids[i]) end
  for i = 1, done.events do
    if isHere and change.events[i].seq ~= '0' then redis.call('XDEL', events, change.events[i].seq .. '-0') end
  end
  local seq = tonumber(target.fields.seq or '0')
  local last = done.events < #change.events and isHere and tonumber(lastMsOf(events)) or 0
  if last <= seq then return false end
  local requests = { target.fields['@done'] }
  for _, entry in ipairs(redis.call('XREVRANGE', events, '+', string.format('%.0f-0', seq + 1), 'COUNT', 10000)) do
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'request' then requests[#requests + 1] = entry[2][i + 1] end
    end
  end
  target.fields.seq, target.fields['@done'] = string.format('%.0f', last), table.concat(requests, ' ')
  if target.fields.version then redis.call('HSET', state, 'seq', target.fields.seq, '@done', target.fields['@done']) end
  mended[#mended + 1] = table.concat({ target.rule, target.key, string.format('%.0f', seq), target.fields.seq }, '\\n')
  return true
end
`,
  'includes/own-rule': `-- What a rule returned and the state it left, checked and as texts. An error has no position of its own: it is about what was returned.
local reserved = { id = true, key = true, request = true, rule = true, seq = true, ts = true, type = true, version = true }
local kinds = { events = 'table', tasks = 'table', ends = 'boolean', reopens = 'boolean' }
-- bytes of a text, and of an event or the details in all; names in a part, and events
local mostBytes, mostNames, mostShown = 2 ^ 20, 10000, 200
local function fail (what, value, expected)
  local shown = type(value) == 'number' and string.format('%.17g', value) or type(value) == 'string' and "'" .. string.sub(value, 1, mostShown) .. "'" or
    'a ' .. type(value)
  error(string.sub(what, 1, mostShown) .. ' is ' .. shown .. '; expected ' .. expected, 0)
end

-- an error of any type, as a line; those of all commands of a call must fit into one reply
local function whyOf (raised)
  local isText = type(raised) == 'string' or type(raised) == 'number'
  return isText and string.gsub(string.sub(raised, 1, 4096), '\\n', ' ') or 'it raised a ' .. type(raised) .. '; expected a text'
end

local function isWhole (value)
  return type(value) == 'number' and value == math.floor(value) and math.abs(value) <= 2 ^ 53
end

local function textOf (what, value)
  if type(value) == 'string' then
    if #value > mostBytes then fail('the length of ' .. what, #value, 'at most 1 MiB') end
    return value
  end
  if not isWhole(value) then fail(what, value, 'a text, or a whole number up to 2^53') end
  return string.format('%.0f', value + 0)
end

local function expectName (what, name)
  if type(name) ~= 'string' or name == '' then fail('a name in ' .. what, name, 'a text') end
  if #name > mostBytes then fail('the length of a name in ' .. what, #name, 'at most 1 MiB') end
end

local function texts (what, given, isBounded)
  if type(given) ~= 'table' then fail(what, given, 'a table of names and values') end
  local made, bytes = {}, 0
  for name, value in pairs(given) do
    expectName(what, name)
    made[name] = textOf(what .. '.' .. name, value)
    bytes = bytes + #name + #made[name]
  end
  if isBounded and bytes > mostBytes then fail('the length of ' .. what, bytes, 'at most 1 MiB in all') end
  return made
end

local function eventOf (what, given)
  local kind = type(given) == 'table' and rawget(given, 'type')
  if type(kind) ~= 'string' then fail(what, given, "a table with a field 'type'") end
  if string.sub(kind, 1, 1) == '@' then fail(what .. '.type', kind, 'a text that does not begin with @') end
  local fields, names, flat = texts(what, given, true), {}, { 'type', kind }
  for name in pairs(fields) do
    if name ~= 'type' then
      if reserved[name] then fail('a field of ' .. what, name, 'another name, because the engine writes this one') end
      names[#names + 1] = name
    end
  end
  if #names > 1000 then fail('the number of fields of ' .. what, #names, 'at most 1000') end
  table.sort(names)
  for _, name in ipairs(names) do
    flat[#flat + 1] = name
    flat[#flat + 1] = fields[name]
  end
  return flat
end

local function expectCount (what, given)
  local count = 0
  for _ in pairs(given) do count = count + 1 end
  if count > mostNames then fail('the number of ' .. what, count, 'at most ' .. mostNames) end
  return count
end

local function eventsOf (given)
  local events, count = {}, expectCount('events', given)
  for i, event in ipairs(given) do events[i] = eventOf('events[' .. i .. ']', event) end
  if count > #events then fail('events', given, 'a list of tables') end
  return events
end

local function numbersOf (part, what, given, expected)
  local made = {}
  expectCount(part, given)
  for name, value in pairs(given) do
    expectName(part, name)
    local number = value and tonumber(value)
    if value and not (isWhole(number) and number >= 0) then fail(what .. ' ' .. name, value, expected .. ', or false to remove it') end
    made[name] = number and string.format('%.0f', number + 0)
  end
  return made
end

local function tasksOf (given)
  for name in pairs(given) do
    if type(name) ~= 'string' or #name > 64 or not string.match(name, '^[^%c%s]+$') then
      fail('the name of a task', name, '1-64 characters without control characters and blanks')
    end
  end
  return numbersOf('tasks', 'task', given, 'ms since 1970')
end

local function membersOf (given)
  local removed, kept = {}, {}
  expectCount('members', given)
  for name, value in pairs(given) do
    expectName('members', name)
    if value then kept[name] = value else removed[name] = false end
  end
  for name, value in pairs(texts('members', kept)) do removed[name] = value end
  return removed
end

local function changeOf (keeps, given)
  if not given then return nil end
  if type(given) ~= 'table' then fail('the third value', given, 'a table, or nothing') end
  -- as it is: a metatable of the rule adds nothing
  local parts = {}
  for name, value in pairs(given) do
    local kind = keeps[name] and 'table' or kinds[name]
    if not kind then fail('a name in the third value', name, 'events, tasks, ends or reopens, or what keeps of the rule declares') end
    if type(value) ~= kind then fail(name, value, 'a ' .. kind) end
    parts[name] = value
  end
  local made = { events = eventsOf(parts.events or {}), tasks = tasksOf(parts.tasks or {}), ends = parts.ends, reopens = parts.reopens }
  if parts.members then made.members = membersOf(parts.members) end
  if parts.holds then made.holds = numbersOf('holds', 'hold', parts.holds, 'ms since 1970') end
  if parts.waiting then made.waiting = numbersOf('waiting', 'place', parts.waiting, 'a number') end
  return made
end

-- as JSON; numbers stay numbers, with all their digits
local function detailsOf (given)
  local made, numbers = texts('the details', given, true), {}
  for name, text in pairs(made) do
    if type(rawget(given, name)) == 'number' then
      numbers[#numbers + 1] = (string.find(name, '^[%w_]+$') and '"' .. name .. '"' or cjson.encode(name)) .. ':' .. text
      made[name] = nil
    end
  end
  if not numbers[1] then return cjson.encode(made) end
  if next(made) then table.insert(numbers, 1, string.sub(cjson.encode(made), 2, -2)) end
  return '{' .. table.concat(numbers, ',') .. '}'
end

local function checked (keeps, state, code, details, change)
  if type(code) ~= 'string' or #code > 64 or not string.match(code, '^[^%c]+$') then
    fail('the code', code, '1-64 characters without control characters')
  end
  local made, fields = changeOf(keeps, change), change and texts('state', state)
  for name in pairs(fields or {}) do
    if string.sub(name, 1, 1) == '@' then fail('a field of the state', name, 'a name that does not begin with @') end
  end
  return code, fields, detailsOf(details or {}), made
end
`,
  'includes/own-target': `-- A key with the commands of a call: its state as they change it, and what its rule keeps.

-- A call that ended between its writes, or another program, left events that the state does not have. The key goes on behind them, and a request that stored one of them is not decided again.
local mostSeen = 10000
local function goBehind (target)
  local events = target.events
  local last = redis.call('XREVRANGE', events, '+', string.format('%.0f-0', target.seq + 1), 'COUNT', 1)[1]
  if not last then return end
  for _, entry in ipairs(redis.call('XREVRANGE', outbox, '+', '-', 'COUNT', mostSeen)) do
    local _, rule, _, key, _, _, _, request, _, seq = unpack(entry[2], 1, 10)
    if rule == target.rule and key == target.key and (tonumber(seq) or 0) > target.seq then target.done = target.done .. ' ' .. request end
  end
  target.behind, target.seq = target.seq, tonumber(string.match(last[1], '^%d+'))
end

local function targetOf (number)
  if targets[number] then return targets[number] end
  local first, rule, key = firstKeys[number], named[number][1], named[number][2]
  local state, kept = KEYS[first], {}
  for i, part in ipairs(parts[rule] or {}) do kept[part] = { key = KEYS[first + 1 + i] } end
  local target = { rule = rule, key = key, first = first, last = firstKeys[number + 1] - 1, state = state, events = KEYS[first + 1],
    kept = kept, fields = {}, changed = {}, dues = {}, shift = 0 }
  local flat = redis.call('HGETALL', state)
  for i = 1, #flat, 2 do target.fields[flat[i]] = flat[i + 1] end
  target.seq, target.version, target.done = tonumber(target.fields['@seq'] or '0'), tonumber(target.fields['@version'] or '0'), target.fields['@done'] or ''
  target.fields['@seq'], target.fields['@version'], target.fields['@done'] = nil, nil, nil
  target.flat = flat
  goBehind(target)
  if made[rule] == true then made[rule] = rules[rule](guards()) end
  targets[number] = target
  return target
end

local function dueOf (target, task)
  local due = target.dues[task]
  if due == nil then due = redis.call('ZSCORE', tasks, task) end
  return tonumber(due)
end
`,
  'includes/own-writes': `-- Writes what was decided: events first, which say whether the stream is ahead of the state, then requests, so that none is decided twice, the outbox, and the key itself. If a write of a key fails although it was checked, its others are undone, and all of its commands in this call fail.
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
  if target.failure then return 'failed\\n' .. target.failure end
  local seq = string.format('%.0f', decision.seq + target.shift)
  return table.concat({ decision.status, decision.code, seq, string.format('%.0f', decision.version), decision.details }, '\\n')
end

local function writeRequest (target, request, decision)
  redis.call('SET', request, decision.body .. string.match(textOfDecision(decision), '\\n.*$'), 'PX', expiry)
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
      string.format('%.0f', target.seq + target.shift) }, '\\n')
  end
end
`,
  'includes/partition': `local function generationNow ()
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
`,
  'includes/pattern-limit': `-- The longest text on which a pattern is run. Lua tries each way to divide a text among the repeats of a pattern, in one call that nothing can
-- stop: of n bytes among k repeats about n^k / k!, and one more where each start is tried. A repeat whose class excludes what follows leaves one way.
local MOST_STEPS, MOST_PATTERN, LITERAL = 1e8, 4096, '^[^%^%$%*%+%?%.%(%)%[%%%-]$'
local find, match, byte, sub, ceil, floor = string.find, string.match, string.byte, string.sub, math.ceil, math.floor

-- where the class at i ends: one character, %x, or a set
local function classEnd (p, i)
  local c = byte(p, i)
  if c == 37 then return i + 2 end
  if c ~= 91 then return i + 1 end
  i = i + 1
  if byte(p, i) == 94 then i = i + 1 end
  repeat
    i = i + (byte(p, i) == 37 and 2 or 1)
  until i > #p or byte(p, i) == 93
  return i + 1
end

local function excludes (class, char)
  if #class == 1 and class ~= '.' then return class ~= char end
  -- a pattern ends at a zero byte
  return not find(class, '%z') and not find(char, class)
end

-- none of the ways to go on, one, or many, behind a repeat of a class that ends before i
local function waysBehind (p, class, i)
  i = match(p, '^[()]*()', i)
  if i > #p then return 'none' end
  if i == #p and byte(p, i) == 36 then return 'one' end
  local char, after = sub(p, i, i), i + 1
  if char == '%' and match(p, '^%p', after) then
    char, after = sub(p, after, after), after + 1
  elseif not match(char, LITERAL) then
    return 'many'
  end
  return not match(p, '^[*?-]', after) and excludes(class, char) and 'one' or 'many'
end

local function stepsOf (n, repeats, factor)
  local steps = factor
  for i = 1, repeats do
    steps = steps * (repeats > 5 and n + i or n) / i
    if steps > MOST_STEPS then break end
  end
  return steps
end

local function mostOf (repeats, factor)
  if factor > MOST_STEPS then return -1 end
  if repeats == 0 then return math.huge end
  local low, high = 0, MOST_STEPS + 1
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    if stepsOf(middle, repeats, factor) > MOST_STEPS then high = middle else low = middle end
  end
  return low
end

-- gmatch has no anchor at the start; a step is dearer with long runs of single characters, and with long sets
local function patternLimit (p, hasNoAnchor)
  local starts = (hasNoAnchor or byte(p, 1) ~= 94) and 1 or 0
  local i, many, isScanned, choices, run, cost = 2 - starts, 0, false, 0, starts == 0 and -#p or 0, 1
  if #p > MOST_PATTERN and find(p, '[%^%$%*%+%?%.%(%[%%%-]') then return -1 end
  while i <= #p do
    local special, after = match(p, '^%%([bf%d])', i), classEnd(p, i)
    if special == 'f' then
      after = classEnd(p, i + 2)
    elseif special then
      isScanned, after = true, i + (special == 'b' and 4 or 2)
    elseif not match(p, '^[()]', i) then
      local kind = match(p, '^[*+?-]', after)
      run = run + after - i
      cost = math.max(cost, ceil(run / 4))
      if kind == '?' then
        choices = choices + 1
      elseif kind then
        local ways = waysBehind(p, sub(p, i, after - 1), after + 1)
        if ways == 'many' then many = many + 1 end
        isScanned, run = isScanned or ways == 'one', 0
      end
      after = kind and after + 1 or after
    end
    i = after
  end
  local repeats = starts + many
  return mostOf(isScanned and repeats > 0 and repeats + 1 or repeats, cost * 2 ^ choices)
end
`,
  'includes/writing': `-- Ids of entries are behind the last id of their stream, also where that is ahead of what is known here: after entries were removed, or a clock was corrected.
local outboxMs = steadyText
local function lastMsOf (stream)
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return string.match(info[i + 1], '^%d+') end
  end
end
-- Before Redis 7.0 servers cannot say what the user may run. Lua does not roll back, so this is asked before the first write.
local mayRun = redis.acl_check_cmd
`,
  'lease': `-- Takes the lease of a partition if it is free, or renews it, or gives it back, notes the clock, and how long its work waits.
-- Atomic, because only one process may find it free. The token grows with each ownership, so that what an earlier owner sends late is refused.
-- KEYS [1] owner: hash, [2] generation: hash, [3] cursors: hash of consumers, [4] outbox: stream
-- ARGV [1] id of the process, [2] token that it holds, 0 = none, [3] lease: ms, 0 = it is given back, [4] a new token is higher than this one, [5] ms that the oldest work of the partition has waited for this process, empty if the process does not drive it, [6] consumer that drives it: nothing has waited longer than its oldest entry; empty = scheduled tasks
-- RETURNS integer, the token; 0 if another process holds the lease
-- COST O(1)
-- MODE writes
local owner, generation, cursors, outbox, id, held, lease, least, waited, driver = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
-- @include clock
-- a clock that went back is noted by turn-back, which needs the time before
if now > last then redis.call('HSET', generation, 'now', string.format('%.0f', now)) end
local known = redis.call('HMGET', owner, 'id', 'token', 'until')
local token, ends = tonumber(known[2] or '0'), tonumber(known[3] or '0')
if known[1] ~= id or known[2] ~= held then
  -- no lease reaches further than this, so it was given while the clock was ahead
  if lease > 0 and ends > now + lease then redis.call('HSET', owner, 'until', string.format('%.0f', now + lease)) end
  if held ~= '0' or now < ends then return 0 end
  token = math.max(token, least) + 1
end
redis.call('HSET', owner, 'id', id, 'token', token, 'until', string.format('%.0f', now + lease))
if waited == '' then return token end
local wait = tonumber(waited)
if driver ~= '' then
  local cursor = redis.call('HGET', cursors, driver)
  local oldest = redis.call('XRANGE', outbox, cursor and '(' .. cursor or '-', '+', 'COUNT', 1)[1]
  -- ids are on the steady clock of the partition
  wait = oldest and math.min(wait, now + back - tonumber(string.match(oldest[1], '^%d+'))) or 0
end
redis.call('HSET', generation, 'wait', string.format('%.0f %.0f', now + lease, math.max(0, wait)))
return token
`,
  'members-between': `-- Counts the members of a sorted set between two places in its order (score, then bytes), and reads the newest of them.
-- Atomic, because members that arrive between the count and the read would be taken for older ones.
-- KEYS [1] members: sorted set
-- ARGV [1] score of the newer place: number or +inf, [2] that place among members of that score: bytes, exclusive, [3] score of the older place: number, [4] that place: bytes, inclusive, [5] members wanted: integer from 1 to 1,001
-- RETURNS array of 2: members in between: integer; array of member, score, member, score, ..., newest first
-- COST O(log N * log T + wanted), T members of those scores
-- MODE read
local members, newer, newerPlace, older, olderPlace, wanted = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
-- @include less
-- how many members are older
local function rank (score, place)
  local low = redis.call('ZCOUNT', members, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', members, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if less(redis.call('ZRANGE', members, middle, middle)[1], place) then low = middle + 1 else high = middle end
  end
  return low
end
local top = rank(newer, newerPlace)
local between = top - rank(older, olderPlace)
if between <= 0 then return { 0, {} } end
local first = redis.call('ZCARD', members) - top
return { between, redis.call('ZREVRANGE', members, first, first + math.min(wanted, between) - 1, 'WITHSCORES') }
`,
  'mend-scores': `-- Puts back the scores that ZADD stored in a transaction whose MSETEX or SET was refused: its permission was revoked after it was queued.
-- Atomic, because it is a part of that transaction: no reader may see a score without its value.
-- KEYS [1] ids: sorted set, [2] key of the last item: string; of the same slot
-- ARGV [1] first 8 bytes of the last item's record, [2] lowest score of the transaction: all members from there on are its own, [3] what item keys begin with: they are of the same slot, and needed after a refusal only
-- RETURNS integer, scores put back; 0 = all values are stored
-- COST O(1); after a refusal O(n log N)
-- MODE writes
local ids, key, head, lowest, prefix = KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]
-- @include order
if redis.call('GETRANGE', key, 0, 7) == head then return 0 end
local members = redis.call('ZRANGEBYSCORE', ids, lowest, '+inf')
for _, member in ipairs(members) do
  local name = prefix .. member
  local before = redis.call('GETRANGE', name, 0, 7)
  if #before < 8 or string.byte(before, 8) % 2 == 1 then
    redis.call('ZREM', ids, member)
  else
    redis.call('ZADD', ids, order(before), member)
  end
end
return #members
`,
  'pattern-limits': `-- The longest text, in bytes, on which each pattern is run, as rules of users find it.
-- Atomic, because it touches nothing.
-- KEYS none
-- ARGV [1..n] patterns
-- RETURNS of each its length as a text; -1 when it is never run
-- COST O(n)
-- MODE read
-- @include pattern-limit
local limits = {}
for i = 1, #ARGV do limits[i] = string.format('%.0f', math.min(patternLimit(ARGV[i]), 2 ^ 53)) end
return limits
`,
  'read-key': `-- Reads a key of a system: its state, its newest events, the end of the outbox of its partition, and the generation.
-- Atomic, because the events and the end of the outbox must be those of the state.
-- KEYS [1] state: hash, [2] events: stream, [3] outbox: stream, [4] generation: hash
-- ARGV [1] number of events
-- RETURNS state: fields and values in turn, events: the newest first, the last entry of the outbox, lineage and number of the generation
-- COST O(n)
-- MODE read
local state, events, outbox, generation, count = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
return {
  redis.call('HGETALL', state),
  redis.call('XREVRANGE', events, '+', '-', 'COUNT', count),
  redis.call('XREVRANGE', outbox, '+', '-', 'COUNT', 1),
  redis.call('HMGET', generation, 'lineage', 'n')
}
`,
  'read-places': `-- Reads where users are in the waiting room of a key: waiting, admitted, or done.
-- Atomic, because a place, its claim and the numbers of the sale belong together.
-- KEYS [1] state: hash, [2] members: hash, [3] waiting: sorted set, [4] holds: sorted set, [5] generation: hash
-- ARGV [1..n] users, at most 256
-- RETURNS stock, sold, status, slots, turnMs, openAt of the state, then of each user a text of claim, its status, the number of those ahead and the end of the hold, - for none; empty for a user who never joined
-- COST O(n log N)
-- MODE read
local state, members, waiting, holds, generation = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
-- holds are on the steady clock of the partition
local back = redis.call('HGET', generation, 'back') or 0
local places = redis.call('HMGET', state, 'stock', 'sold', 'status', 'slots', 'turnMs', 'openAt')
for i = 1, #ARGV do
  local user = ARGV[i]
  local known = redis.call('HGET', members, 'wait ' .. user)
  local place = ''
  if known then
    local claim = string.match(known, ' (%S+)$')
    local status = string.match(redis.call('HGET', members, 'claim ' .. claim) or '-', '^(%S+)')
    local ahead = redis.call('ZRANK', waiting, user) or '-'
    local ends = redis.call('ZSCORE', holds, claim)
    place = table.concat({ claim, status, ahead, ends and string.format('%.0f', ends - back) or '-' }, ' ')
  end
  places[#places + 1] = place
end
return places
`,
  'register-consumer': `-- Registers a consumer of an outbox, so that nothing is trimmed before the consumer has read it.
-- Atomic, because the bound of trimming must not move between the cursor and itself.
-- KEYS [1] cursors: hash of consumers, [2] generation: hash
-- ARGV [1] name of the consumer
-- RETURNS integer, 1 if it is new
-- COST O(1)
-- MODE writes
local cursors, generation, name = KEYS[1], KEYS[2], ARGV[1]
if redis.call('HGET', cursors, name) then return 0 end
redis.call('HSET', cursors, name, '0-0')
redis.call('HSET', generation, 'finished', '0-0')
return 1
`,
  'replay-letter': `-- Puts a dead letter back into the outbox of its partition, unless that was done.
-- Atomic, because of two who replay it at once only one may.
-- KEYS [1] dead letters: stream, [2] outbox: stream, [3] generation: hash
-- ARGV [1] id of the letter
-- RETURNS integer, 1 if it was there
-- COST O(1)
-- MODE writes
local dead, outbox, generation, id = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local letter = redis.call('XRANGE', dead, id, id)[1]
if not letter then return 0 end
local fields = {}
for i = 1, #letter[2], 2 do fields[letter[2][i]] = letter[2][i + 1] end
-- @include clock
-- ids follow the clock of the partition, as those of decisions do
if now > last then redis.call('HSET', generation, 'now', string.format('%.0f', now)) end
-- the letter goes once the entry is there; an outbox that is ahead of the clock is continued behind its last id
local newest = redis.call('XREVRANGE', outbox, '+', '-', 'COUNT', 1)[1]
local ms = math.max(now, last) + back
if newest then ms = math.max(ms, tonumber(string.match(newest[1], '^%d+'))) end
redis.call('XADD', outbox, string.format('%.0f-*', ms), unpack(cjson.decode(fields.fields)))
redis.call('XDEL', dead, id)
return 1
`,
  'rules/bounded': `-- Rule bounded: units of a stock. A claim is accepted while units are available and its user is below the limit; first a hold, then sold.
-- VERSION 3
-- STATE stock, available, held, sold, perUser, openAt, closeAt, holdMs, mode, slots, queued, turnMs, lineage, rememberMs, about, status (open, paused, closed), seq, version; members: \`user <user>\` units of the user, \`claim <claim>\` status quantity user and the number of its first event, \`wait <user>\` place claim
-- ARGS create stock perUser openAt closeAt holdMs mode slots recorded [rememberMs about]; claim user quantity claim final mode [holdMs]; confirm user claim final; settle user claim; release user claim [status]; join user claim; leave user claim; expire; open; due; restock quantity; pause; resume; close; remove; restore (claim user quantity status)...; adopt
-- CODES created, unchanged, exists, has_claims, has_holds, unknown, restoring, other_mode, not_open, closed, paused, accepted, sold_out, all_held, insufficient, over_limit, already_claimed, released, unknown_claim, not_admitted, admitted, waiting, already_sold, hold_expired, not_due
--
--   claim      a hold, or final at once if holdMs is 0; \`final\`: sold, or pending; an empty holdMs is a hold without end
--   confirm    a hold becomes final; an empty user is any user
--   settle     a pending claim becomes sold: the database has it
--   release    a hold, or a final claim, only if it has this status, or no units left; of a stock with rememberMs also an unknown claim, which can then never be made
--   join       the waiting room; \`slots\` people at a time are admitted, each with a hold
--   leave      the waiting room, or an admission
--   expire, open, due   scheduled tasks: holds that are due, the time of opening, the time of closing
--   remove     as close, but not while units are held
--   restore    claims that the database has; nothing is sold until \`adopt\`: the state agrees with the database
--
-- available + held + sold = stock, always; pending claims are held. A claim that was released or has expired keeps its member, so that it is not made twice. Admission from the waiting room is part of the command that frees a slot, so no slot waits for a timer.
-- A stock with rememberMs, such as a product, can be created again after \`remove\` or \`close\`; its event numbers continue. It forgets a claim that long after it was sold or released; until then the claim cannot be made again. \`about\` is a text that comes back in its state.
-- A recorded sale belongs to a lineage. In another one its state may be an older copy, so it sells again only after \`restore\` and \`adopt\`.
local ops = {}
-- @include rules/bounded/units
-- @include rules/bounded/queue
-- @include rules/bounded/claims
-- @include rules/bounded/sale
-- @include rules/bounded/restore

return function (state, args, now, read)
  if args[1] ~= 'create' and not state.status then return 'unknown', {} end
  if isRestoring(state, read) and not restoring[args[1]] then return 'restoring', outcome(state) end
  return ops[args[1]](state, args, now, read)
end
`,
  'rules/bounded/claims': `-- Claims: held, confirmed, settled by the database, released, expired.
local maxExpired = 256

local function shortage (state, read)
  if state.sold == state.stock then return 'sold_out', outcome(state) end
  if state.held == '0' then return 'insufficient', outcome(state) end
  return 'all_held', outcome(state, { nextHoldUntil = read.firstHold() or '' })
end

function ops.claim (state, args, now, read)
  local user, quantity, claim = args[2], n(args[3]), args[4]
  if state.mode ~= args[6] then return 'other_mode', { mode = state.mode } end
  local why, details = blocked(state, now)
  if why then return why, details end
  local known, units = parse(read.member('claim ' .. claim))
  local owned = n(read.member('user ' .. user) or '0')
  if known and not hasUnits(known) then return 'released', outcome(state) end
  if quantity > n(state.perUser) then return 'over_limit', { perUser = state.perUser } end
  if known or owned + quantity > n(state.perUser) then return 'already_claimed', outcome(state, { status = known or '', quantity = units or '' }) end
  if n(state.available) < quantity then return shortage(state, read) end
  local hold = args[7] or state.holdMs
  local status, untilMs = hold == '0' and args[5] or 'held', hold ~= '' and text(now + n(hold))
  add(state, 'available', -quantity)
  add(state, status == 'sold' and 'sold' or 'held', quantity)
  local one, ends = event(state, status, claim, user, args[3]), status == 'held' and untilMs or nil
  one['until'] = ends
  local change = kept(state, {
    events = { one },
    members = { ['claim ' .. claim] = status .. ' ' .. args[3] .. ' ' .. user .. ' ' .. state.seq },
    units = { [user] = quantity },
    holds = ends and { [claim] = ends } or {}
  })
  return 'accepted', outcome(state, { claim = claim, status = status, ['until'] = ends }), change
end

-- a hold becomes final, or a pending claim becomes sold
local function finish (state, args, now, read, quantity, owner, since, final)
  local change = nothing()
  if final == 'sold' then
    add(state, 'held', -n(quantity))
    add(state, 'sold', n(quantity))
  end
  noteTurn(state, now, read.holdUntil(args[3]))
  note(change, event(state, final, args[3], owner, quantity))
  change.members['claim ' .. args[3]] = final .. ' ' .. quantity .. ' ' .. owner .. ' ' .. since
  change.holds[args[3]] = final == 'sold' and rememberedUntil(state, now)
  admit(state, now, read, change)
  return 'accepted', outcome(state, { claim = args[3], status = final }), kept(state, change)
end

function ops.confirm (state, args, now, read)
  local status, quantity, owner, since = parse(read.member('claim ' .. args[3]))
  if not status or (args[2] ~= '' and owner ~= args[2]) then return 'unknown_claim', outcome(state) end
  if status == 'waiting' then return 'not_admitted', outcome(state) end
  if isSold(status) then return 'already_sold', outcome(state, { status = status }) end
  local untilMs = read.holdUntil(args[3])
  if status ~= 'held' or untilMs and now >= n(untilMs) then return 'hold_expired', outcome(state) end
  return finish(state, args, now, read, quantity, owner, since, args[4])
end

function ops.settle (state, args, now, read)
  local status, quantity, owner, since = parse(read.member('claim ' .. args[3]))
  if status == 'sold' then return 'already_sold', outcome(state) end
  if status ~= 'pending' then return 'unknown_claim', outcome(state) end
  return finish(state, args, now, read, quantity, owner, since, 'sold')
end

function ops.release (state, args, now, read)
  local status, quantity, owner, since = parse(read.member('claim ' .. args[3]))
  if args[4] and status ~= args[4] and (not status or hasUnits(status)) then return 'unknown_claim', outcome(state) end
  if not status and args[2] ~= '' and state.rememberMs then
    -- a later hold of it comes too late
    local members, holds = { ['claim ' .. args[3]] = 'released 0 ' .. args[2] .. ' 0' }, { [args[3]] = rememberedUntil(state, now) }
    return 'accepted', outcome(state), { events = {}, members = members, holds = holds }
  end
  if not status or status == 'waiting' or (args[2] ~= '' and owner ~= args[2]) then return 'unknown_claim', outcome(state) end
  if not hasUnits(status) then return 'released', outcome(state) end
  local change = kept(state, nothing())
  change.reopens = state.sold == state.stock
  noteTurn(state, now, read.holdUntil(args[3]))
  free(state, change, now, args[3], status, quantity, owner, since, status == 'sold' and 'revoked' or 'released')
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end

local function expireAll (state, now, read, change, claims)
  for _, claim in ipairs(claims) do
    local status, quantity, user, since = parse(read.member('claim ' .. claim))
    if status == 'held' then
      noteTurn(state, now, read.holdUntil(claim))
      free(state, change, now, claim, status, quantity, user, since, 'expired')
    else
      change.members['claim ' .. claim], change.holds[claim] = false, false
      if status == 'sold' then count(change, user, -n(quantity)) end
    end
  end
end

function ops.expire (state, args, now, read)
  local claims, change = read.holdsDue(now, maxExpired), nothing()
  if #claims == 0 then return 'not_due', outcome(state) end
  expireAll(state, now, read, change, claims)
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end
`,
  'rules/bounded/queue': `-- The waiting room: people join, are admitted in order as slots and units become free, and leave.
-- of the mean time that an admitted person takes, the share of a new one is one in
local turnWeight = 8

local function admitOne (state, now, change, user, place, claim)
  local untilMs = text(now + n(state.holdMs))
  add(state, 'available', -1)
  add(state, 'held', 1)
  local held = event(state, 'held', claim, user, '1')
  held['until'], held.place = untilMs, place
  note(change, held)
  change.members['claim ' .. claim] = 'held 1 ' .. user .. ' ' .. state.seq
  count(change, user, 1)
  change.holds[claim], change.waiting[user] = untilMs, false
end

local function slotsLeft (state) return math.min(n(state.slots) - n(state.held), n(state.available)) end

local function admit (state, now, read, change, leaving)
  local free = slotsLeft(state)
  if state.mode ~= 'queue' or free <= 0 or blocked(state, now) then return end
  for _, user in ipairs(read.waiting(free + 1)) do
    if user ~= leaving and free > 0 then
      free = free - 1
      admitOne(state, now, change, user, parse(read.member('wait ' .. user)))
    end
  end
end

-- the queue does not move before the sale opens
local function placeOf (state, position, now)
  local opensMs = math.max(0, n(state.openAt) - now)
  return { position = text(position), etaMs = text(opensMs + math.ceil(position / n(state.slots)) * n(state.turnMs)) }
end

local function noteTurn (state, now, untilMs)
  if state.mode ~= 'queue' or not untilMs then return end
  local took = now - (n(untilMs) - n(state.holdMs))
  add(state, 'turnMs', math.floor((took - n(state.turnMs)) / turnWeight))
end

function ops.join (state, args, now, read)
  local user, claim = args[2], args[3]
  if state.mode ~= 'queue' then return 'other_mode', { mode = state.mode } end
  if isEnded(state, now) then return 'closed', outcome(state) end
  local _, known = parse(read.member('wait ' .. user))
  local status = parse(read.member('claim ' .. (known or '')))
  if status == 'held' then return 'admitted', { ['until'] = read.holdUntil(known) } end
  if status == 'waiting' then return 'waiting', placeOf(state, read.position(user), now) end
  if read.member('claim ' .. claim) or n(read.member('user ' .. user) or '0') >= n(state.perUser) then
    return 'already_claimed', outcome(state, { status = status or '' })
  end
  if state.sold == state.stock then return 'sold_out', outcome(state) end
  local change, ahead = nothing(), read.waitingCount()
  add(state, 'queued', 1)
  change.members['wait ' .. user] = state.queued .. ' ' .. claim
  if ahead == 0 and slotsLeft(state) > 0 and not blocked(state, now) then
    admitOne(state, now, change, user, state.queued, claim)
    return 'accepted', { status = 'admitted', ['until'] = text(now + n(state.holdMs)) }, change
  end
  change.members['claim ' .. claim] = 'waiting 0 ' .. user .. ' 0'
  change.waiting[user] = state.queued
  local place = placeOf(state, ahead + 1, now)
  place.status = 'waiting'
  return 'accepted', place, change
end

function ops.leave (state, args, now, read)
  local user, claim = args[2], args[3]
  local _, known = parse(read.member('wait ' .. user))
  local status, quantity, _, since = parse(read.member('claim ' .. claim))
  if known ~= claim then return 'unknown_claim', {} end
  if isSold(status) then return 'already_sold', outcome(state) end
  if status ~= 'waiting' and status ~= 'held' then return 'released', outcome(state) end
  local change = nothing()
  if status == 'waiting' then
    change.members['claim ' .. claim] = 'left 0 ' .. user .. ' 0'
    change.waiting[user] = false
  else
    noteTurn(state, now, read.holdUntil(claim))
    free(state, change, now, claim, status, quantity, user, since, 'released')
  end
  admit(state, now, read, change, user)
  return 'accepted', outcome(state), change
end

function ops.open (state, args, now, read)
  if now < n(state.openAt) then return 'not_due', outcome(state) end
  local change = nothing()
  admit(state, now, read, change)
  change.tasks = { open = false }
  return 'accepted', outcome(state), change
end
`,
  'rules/bounded/restore': `-- A recorded sale in another lineage: nothing is sold until its state was compared with the database.
local restoring = { create = true, restore = true, adopt = true, close = true, due = true, pause = true }
local function isRestoring (state, read) return state.lineage and state.lineage ~= read.lineage() end

local function restoreOne (state, change, now, claim, user, quantity, status, read)
  local known, ownQuantity, owner, since = parse(read.member('claim ' .. claim))
  local has = known and hasUnits(known)
  if status ~= 'sold' then
    if has then free(state, change, now, claim, known, ownQuantity, owner, since, 'revoked') end
    return
  end
  if known == 'sold' then return end
  if known == 'waiting' then change.waiting[owner] = false end
  local units = has and ownQuantity or quantity
  add(state, has and 'held' or 'available', -n(units))
  add(state, 'sold', n(units))
  local buyer = has and owner or user
  note(change, event(state, 'sold', claim, buyer, units))
  change.members['claim ' .. claim] = 'sold ' .. units .. ' ' .. buyer .. ' ' .. (has and since or state.seq)
  if not has then count(change, user, n(quantity)) end
  change.holds[claim] = false
end

function ops.restore (state, args, now, read)
  if not isRestoring(state, read) then return 'unchanged', outcome(state) end
  local change = nothing()
  for i = 2, #args, 4 do restoreOne(state, change, now, args[i], args[i + 1], args[i + 2], args[i + 3], read) end
  return 'accepted', outcome(state), change
end

function ops.adopt (state, args, now, read)
  if state.lineage == read.lineage() then return 'unchanged', outcome(state) end
  local change, short = nothing(), math.max(0, -n(state.available))
  -- holds of a history that was lost may keep units that were sold in it
  expireAll(state, now, read, change, read.holdsDue('+inf', short))
  change.reopens = (state.lineage or '') ~= ''
  state.lineage = read.lineage()
  note(change, { seq = '0', type = 'restored' })
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end
`,
  'rules/bounded/sale': `-- The sale itself: created, restocked, paused, closed.

function ops.create (state, args, now)
  local fields = { 'stock', 'perUser', 'openAt', 'closeAt', 'holdMs', 'mode', 'slots' }
  local isAgain = args[10] and state.status == 'closed'
  if state.status == 'open' and args[10] then return 'exists', outcome(state) end
  local isSame = state.status ~= nil and not args[10]
  for i, field in ipairs(fields) do isSame = isSame and state[field] == args[i + 1] end
  if isSame then return 'unchanged', outcome(state) end
  if not args[10] and state.status and (state.available ~= state.stock or state.queued ~= '0' or state.status == 'closed') then
    return 'has_claims', outcome(state)
  end
  for i, field in ipairs(fields) do state[field] = args[i + 1] end
  if args[9] == '1' then state.lineage = '' end
  if args[10] then state.rememberMs, state.about = args[10], args[11] end
  state.status, state.available, state.held, state.sold, state.seq = 'open', state.stock, '0', '0', state.seq or '0'
  state.queued, state.turnMs = '0', state.holdMs
  local opens = state.mode == 'queue' and now < n(state.openAt)
  local tasks = { open = opens and state.openAt, due = not args[10] and state.closeAt }
  if isAgain then add(state, 'seq', 1) end
  local opened = { seq = isAgain and state.seq or '0', type = 'open' }
  if args[10] then opened.stock, opened.about = state.stock, state.about end
  return 'created', outcome(state), { events = { opened }, tasks = tasks }
end

function ops.restock (state, args, now, read)
  if isEnded(state, now) then return 'closed', outcome(state) end
  local change = nothing()
  change.reopens = state.sold == state.stock
  add(state, 'stock', n(args[2]))
  add(state, 'available', n(args[2]))
  note(change, event(state, 'restocked', '', '', args[2]))
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end

local function turnTo (state, now, read, status, type)
  if isEnded(state, now) then return 'closed', outcome(state) end
  if state.status == status then return 'unchanged', outcome(state) end
  state.status = status
  local change = nothing()
  note(change, event(state, type, '', '', '0'))
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end
function ops.pause (state, args, now, read) return turnTo(state, now, read, 'paused', 'paused') end
function ops.resume (state, args, now, read) return turnTo(state, now, read, 'open', 'resumed') end

local function finishSale (state)
  state.status = 'closed'
  local events = { event(state, 'closed', '', '', '0') }
  return 'accepted', outcome(state), { events = events, tasks = { due = false, open = false }, ends = not state.rememberMs }
end
function ops.remove (state)
  if state.status == 'closed' then return 'closed', outcome(state) end
  if state.held ~= '0' then return 'has_holds', outcome(state) end
  return finishSale(state)
end
function ops.close (state)
  if state.status == 'closed' then return 'closed', outcome(state) end
  return finishSale(state)
end
function ops.due (state, args, now)
  if state.status == 'closed' or now < n(state.closeAt) then return 'not_due', outcome(state) end
  return finishSale(state)
end
`,
  'rules/bounded/units': `-- The units of a sale: how a command changes their numbers, and the event of it.
local n = tonumber
local function text (number) return string.format('%.0f', number) end
local function add (state, field, more) state[field] = text(n(state[field]) + more) end
local function outcome (state, more)
  local made = more or {}
  made.available, made.held, made.sold, made.seq = state.available, state.held, state.sold, state.seq
  return made
end
local function nothing () return { events = {}, members = {}, units = {}, holds = {}, waiting = {} } end
local function event (state, type, claim, user, quantity)
  add(state, 'seq', 1)
  return outcome(state, { type = type, claim = claim, user = user, quantity = quantity })
end
local function note (change, event) change.events[#change.events + 1] = event end
local function count (change, user, more) change.units[user] = (change.units[user] or 0) + more end
local function parse (member)
  if member then return string.match(member, '^(%S+) (%S+) ?(%S*) ?(%S*)$') end
end
local function isEnded (state, now) return state.status == 'closed' or now >= n(state.closeAt) end
local function isSold (status) return status == 'sold' or status == 'pending' end
local function hasUnits (status) return status == 'held' or isSold(status) end

local function blocked (state, now)
  if now < n(state.openAt) then return 'not_open', { openAt = state.openAt } end
  if isEnded(state, now) then return 'closed', outcome(state) end
  if state.status == 'paused' then return 'paused', outcome(state) end
end

-- when a claim without units, or a sold one, is forgotten; false = never
local function rememberedUntil (state, now) return state.rememberMs and text(now + n(state.rememberMs)) or false end
-- of a stock that forgets claims, only the newest events are kept
local function kept (state, change)
  change.keeps = state.rememberMs and 1000
  return change
end

local function free (state, change, now, claim, status, quantity, user, since, type)
  add(state, status == 'sold' and 'sold' or 'held', -n(quantity))
  add(state, 'available', n(quantity))
  note(change, event(state, type, claim, user, quantity))
  change.members['claim ' .. claim] = type .. ' ' .. quantity .. ' ' .. user .. ' ' .. since
  count(change, user, -n(quantity))
  change.holds[claim] = rememberedUntil(state, now)
end
`,
  'rules/latest': `-- Rule latest: the newest price of an asset. A price is accepted when its refresh began after that of the stored one; refreshes are tasks.
-- VERSION 2
-- STATE status (open), base (tier as set), tier, pinned (0, 1), tiers (refresh, soft and hard ms of hot, medium, cold), phase, price, ts, asOf, sources, soft, hard, due, failedAt, retryAt, failures, reason, candidate, failedSources, heat, heatAt, wantedUntil, back, seq, version
-- ARGS set base pinned tiers phase; tier base pinned; price startedAt price sources asOf; fail startedAt reason candidate sources; want; force; asked requests
-- CODES created, unchanged, unknown, accepted, stale, known, failing, in_progress, too_soon
--
--   set      creates an asset, or changes it; empty = as it is, or cold and not pinned
--   tier     as set, of an asset that exists
--   price    of a refresh that began then, by the clock of the server; asOf: time of the price by its sources, from which its age and its expiries count
--   fail     of a refresh that found no price; the next attempt backs off
--   want     makes the next refresh due now: once until it ends, or for a second, and only while there is no unexpired price
--   force    as want, also while there is one, a second after the last refresh at the earliest
--   asked    requests since the last time: demand moves an asset to a higher tier
--
-- The next refresh is a scheduled task, \`refresh\`. It carries no command: the owner of the partition asks the sources, then sends \`price\` or \`fail\`, which schedule the next one. \`phase\` (0 to 999) is a function of the asset; with the sequence number it makes the jitter.
local n, names = tonumber, { 'hot', 'medium', 'cold' }
local rank = { hot = 1, medium = 2, cold = 3 }
local stepMs, maxSteps, wantMs, soonMs, longestMs = 15000, 60, 1000, 1000, 5000
-- requests in thousandths, which a rate of 1 a second, and of 6 a minute, reaches; half of it is left to stay
local heats = { 94000, 9400 }
local function text (number) return string.format('%.0f', number) end

local function ms (state, which)
  local i, at = (rank[state.tier] - 1) * 3 + which, 0
  for number in string.gmatch(state.tiers, '%d+') do
    at = at + 1
    if at == i then return n(number) end
  end
end

local function jittered (state, interval)
  return math.floor(interval * (900 + (n(state.phase) * 7 + n(state.seq) * 61) % 201) / 1000)
end

-- 0.9 to 1.1 of the interval; after the first price 0.9 to 1.8, so that assets created together are not refreshed together
local function interval (state)
  local refresh = ms(state, 1)
  if state.seq == '1' then return math.floor(refresh * (9000 + 9 * n(state.phase)) / 10000) end
  return jittered(state, refresh)
end

local function plan (state, due)
  state.due = text(due)
  return { refresh = state.due }
end

local function numbered (state, event)
  state.seq = text(n(state.seq) + 1)
  event.seq = state.seq
  return event
end

local function cool (state, now)
  local steps, heat = math.floor((now - n(state.heatAt)) / stepMs), n(state.heat)
  if steps >= maxSteps then heat = 0 end
  for _ = 1, math.min(steps, maxSteps) do heat = math.floor(heat * 841 / 1000) end
  state.heat, state.heatAt = text(heat), text(n(state.heatAt) + steps * stepMs)
end

-- the tier as set, or a higher one by demand
local function place (state)
  local before, heat, best = state.tier, n(state.heat), rank[state.base]
  if state.pinned == '0' then
    for i = 2, 1, -1 do
      local least = rank[before] <= i and heats[i] / 2 or heats[i]
      if heat >= least then best = math.min(best, i) end
    end
  end
  state.tier = names[best]
  return state.tier ~= before
end

-- after a change of tier: an earlier refresh, if the tier is a higher one
local function moved (state, now)
  local event = numbered(state, { type = 'tier', tier = state.tier, pinned = state.pinned })
  return { events = { event }, tasks = plan(state, math.min(n(state.due), now + interval(state))), keeps = 1000 }
end

-- times on the server's clock; those of sources stay
local durations = { 'ts', 'due', 'failedAt', 'retryAt', 'wantedUntil' }
-- the clock may have gone back while a refresh was under way
local function past (at, now) return n(at) > now and text(now) or at end

local ops = {}

function ops.set (state, args, now)
  local base, pinned, tiers, phase = args[2], args[3], args[4], args[5]
  if state.status then
    base, pinned = base == '' and state.base or base, pinned == '' and state.pinned or pinned
    if state.base == base and state.pinned == pinned and state.tiers == tiers then return 'unchanged', { tier = state.tier, pinned = state.pinned } end
    state.base, state.pinned, state.tiers = base, pinned, tiers
    place(state)
    return 'accepted', { tier = state.tier, pinned = state.pinned }, moved(state, now)
  end
  base = base == '' and 'cold' or base
  state.status, state.base, state.tier, state.pinned, state.tiers, state.phase = 'open', base, base, pinned == '' and '0' or pinned, tiers, phase
  state.price, state.ts, state.asOf, state.sources, state.soft, state.hard = '', '0', '0', '[]', '0', '0'
  state.failedAt, state.retryAt, state.failures, state.reason, state.candidate = '0', '0', '0', '', ''
  state.heat, state.heatAt, state.wantedUntil, state.seq = '0', text(now), '0', '0'
  return 'created', { tier = base, pinned = state.pinned }, { events = { { seq = '0', type = 'wanted' } }, tasks = plan(state, now) }
end

function ops.tier (state, args, now)
  return ops.set(state, { 'set', args[2], args[3], state.tiers, state.phase }, now)
end

function ops.price (state, args, now)
  local startedAt, price, sources, asOf = past(args[2], now), args[3], args[4], past(args[5], now)
  if n(startedAt) <= n(state.ts) then return 'stale', { ts = state.ts } end
  cool(state, now)
  place(state)
  state.price, state.ts, state.asOf, state.sources = price, startedAt, asOf, sources
  state.soft, state.hard = text(n(asOf) + ms(state, 2)), text(n(asOf) + ms(state, 3))
  state.failures, state.reason, state.candidate, state.retryAt, state.wantedUntil = '0', '', '', '0', '0'
  local event = numbered(state, {
    type = 'price', price = price, at = startedAt, asOf = asOf, sources = sources, soft = state.soft, hard = state.hard, tier = state.tier
  })
  return 'accepted', {}, { events = { event }, tasks = plan(state, now + interval(state)), keeps = 1000 }
end

function ops.fail (state, args, now)
  local startedAt, reason, candidate, sources = past(args[2], now), args[3], args[4], args[5]
  if n(startedAt) <= math.max(n(state.ts), n(state.failedAt)) then return 'stale', { ts = state.ts } end
  cool(state, now)
  place(state)
  local refresh, failures = ms(state, 1), n(state.failures)
  local wait = math.min(math.max(refresh, longestMs), math.min(refresh, soonMs) * 2 ^ math.min(failures, 6))
  state.failedAt, state.failures, state.reason, state.candidate, state.wantedUntil = startedAt, text(failures + 1), reason, candidate, '0'
  state.failedSources = sources
  local tasks = plan(state, now + jittered(state, wait))
  state.retryAt = state.due
  local event = numbered(state, {
    type = 'failed', at = startedAt, reason = reason, candidate = candidate, sources = sources, retryAt = state.retryAt, tier = state.tier
  })
  return 'accepted', {}, { events = { event }, tasks = tasks, keeps = 1000 }
end

local function wanted (state, now)
  state.wantedUntil = text(now + wantMs)
  return 'accepted', { seq = state.seq }, { events = { { seq = '0', type = 'wanted' } }, tasks = plan(state, now) }
end

function ops.want (state, args, now)
  if now < n(state.hard) then return 'known', { seq = state.seq } end
  if now < n(state.retryAt) then return 'failing', { reason = state.reason, retryAt = state.retryAt } end
  if now < n(state.wantedUntil) then return 'in_progress', { seq = state.seq } end
  return wanted(state, now)
end

function ops.force (state, args, now)
  if now < n(state.wantedUntil) then return 'in_progress', { seq = state.seq } end
  if now - math.max(n(state.ts), n(state.failedAt)) < soonMs then return 'too_soon', { seq = state.seq } end
  return wanted(state, now)
end

function ops.asked (state, args, now)
  cool(state, now)
  state.heat = text(n(state.heat) + n(args[2]) * 1000)
  if place(state) then return 'accepted', {}, moved(state, now) end
  return 'accepted', {}, { events = {} }
end

return function (state, args, now, read)
  if args[1] ~= 'set' and not state.status then return 'unknown', {} end
  read.turnBack(state, durations)
  return ops[args[1]](state, args, now)
end
`,
  'rules/max': `-- Rule max: an auction. A bid is accepted when it is at least the price and the increment, between opening and closing.
-- VERSION 2
-- STATE start, increment, openAt, closeAt, lastCloseAt, softCloseMs, reserve, buyNow, currency, status (open, closed), price, leader, max, bids, seq, version
-- ARGS create start increment openAt closeAt softCloseMs softCloseMaxMs reserve buyNow currency; bid user amount max (empty = none); buy user; close; due
-- CODES created, unchanged, has_bids, invalid_times, unknown, not_open, closed, ended, accepted, too_low, self_outbid, max_raised, no_buy_now, bought, not_due
--
--   bid      max: up to it, later bids of others are answered by a higher price (proxy)
--   buy      at the price of buyNow
--   due      as close, if closeAt has passed: a scheduled task, since a soft close may have moved it
--
-- A bid near the end moves closeAt (soft close). The maximum of the leader stays in the state: no event has it.
local n = tonumber
local function text (number) return string.format('%.0f', number) end
local function isClosed (state, now) return state.status == 'closed' or now >= n(state.closeAt) end
local function nextOf (state)
  return state.leader == '' and n(state.start) or n(state.price) + n(state.increment)
end
local function event (state, type, user, amount)
  local before = state.price
  state.seq, state.price = text(n(state.seq) + 1), amount
  return { seq = state.seq, type = type, user = user, amount = amount, previous = before }
end
local function outcome (state)
  return { currentBid = state.price, minNext = text(nextOf(state)), seq = state.seq, closeAt = state.closeAt }
end
local ops = {}

function ops.create (state, args, now)
  local fields = { 'start', 'increment', 'openAt', 'closeAt', 'softCloseMs', 'lastCloseAt', 'reserve', 'buyNow', 'currency' }
  local given = { args[2], args[3], args[4], args[5], args[6], text(n(args[5]) + n(args[7])), args[8], args[9], args[10] }
  local isSame = state.status ~= nil
  for i, field in ipairs(fields) do isSame = isSame and state[field] == given[i] end
  if isSame then return 'unchanged', outcome(state) end
  if state.status and (state.bids ~= '0' or state.status == 'closed') then return 'has_bids', outcome(state) end
  if n(args[5]) <= now or n(args[5]) <= n(args[4]) then return 'invalid_times', { now = text(now) } end
  for i, field in ipairs(fields) do state[field] = given[i] end
  state.status, state.price, state.leader, state.max, state.bids = 'open', '0', '', '0', '0'
  state.seq = state.seq or '0'
  return 'created', outcome(state), { events = { { seq = '0', type = 'open' } }, tasks = { due = state.closeAt } }
end

function ops.bid (state, args, now)
  local user, amount, max = args[2], args[3], args[4]
  if now < n(state.openAt) then return 'not_open', { openAt = state.openAt } end
  if isClosed(state, now) then return 'closed', outcome(state) end
  if user == state.leader then
    if max == '' or n(max) <= n(state.max) then return 'self_outbid', outcome(state) end
    state.max = max
    return 'max_raised', outcome(state), { events = {}, tasks = {} }
  end
  if n(amount) < nextOf(state) then return 'too_low', outcome(state) end
  local leads = state.leader == '' or n(amount) > n(state.max)
  local events = { event(state, 'bid', user, amount) }
  state.bids = text(n(state.bids) + 1)
  if leads then
    state.leader, state.max = user, max == '' and amount or max
  else
    events[2] = event(state, 'proxy', state.leader, text(math.min(n(state.max), n(amount) + n(state.increment))))
  end
  local tasks = {}
  if n(state.closeAt) - now < n(state.softCloseMs) then
    local closeAt = text(math.min(now + n(state.softCloseMs), n(state.lastCloseAt)))
    if n(closeAt) > n(state.closeAt) then
      state.closeAt = closeAt
      tasks.due, events[#events].closeAt = closeAt, closeAt
    end
  end
  local details = outcome(state)
  details.leading = leads and '1' or '0'
  return 'accepted', details, { events = events, tasks = tasks }
end

local function close (state, type, user, amount)
  local events = { event(state, type, user, amount) }
  state.status = 'closed'
  return outcome(state), { events = events, tasks = { due = false }, ends = true }
end

function ops.buy (state, args, now)
  if now < n(state.openAt) then return 'not_open', { openAt = state.openAt } end
  if isClosed(state, now) then return 'closed', outcome(state) end
  if state.buyNow == '' or n(state.price) >= n(state.buyNow) then return 'no_buy_now', outcome(state) end
  state.leader, state.bids = args[2], text(n(state.bids) + 1)
  return 'bought', close(state, 'buy', args[2], state.buyNow)
end

function ops.close (state)
  if state.status == 'closed' then return 'closed', outcome(state) end
  return 'ended', close(state, 'close', state.leader, state.price)
end

function ops.due (state, args, now)
  if state.status == 'open' and now < n(state.closeAt) then return 'not_due', outcome(state) end
  return ops.close(state)
end

return function (state, args, now)
  if args[1] ~= 'create' and not state.status then return 'unknown', {} end
  return ops[args[1]](state, args, now)
end
`,
  'rules/once': `-- Rule once: something that is created once, such as a customer.
-- VERSION 2
-- STATE status (open), about, seq, version
-- ARGS create about
-- CODES created, exists
local ops = {}

function ops.create (state, args)
  if state.status then return 'exists', {} end
  state.status, state.about, state.seq = 'open', args[2], '1'
  -- a stream of one event takes 4 KiB, and its state says as much
  return 'created', {}, { events = { { seq = '1', type = 'created', about = args[2] } }, keeps = 0 }
end

return function (state, args) return ops[args[1]](state, args) end
`,
  'rules/step': `-- Rule step: an order, driven by the owner of its partition. A step is accepted from certain statuses only.
-- VERSION 2
-- STATE status (placed, held, capturing, captured, confirmed, cancelling, cancelled), customer, total, lines, address, deadline, correlation, placedAt, reason, parked, wasHeld, authorization, back, seq, version
-- ARGS place customer total lines address deadlineMs correlation; held; capture_requested authorization; captured; confirmed; declined reason; cancel_requested; deadline; cancelled; check; checked; park reason; resume
-- CODES created, exists, other_body, unknown, accepted, illegal, late, not_due
--
--   placed ── held ──▶ capturing ──▶ captured ──▶ confirmed
--      │        │          │
--      └────────┴──────────┴──▶ cancelling ──▶ cancelled
--
--   held               every line is held
--   capture_requested  from here on only a definite refusal of the payment cancels the order
--   declined           no stock, or payment refused
--   cancel_requested   the customer wants it
--   deadline           a scheduled task
--   cancelled          everything is undone
--   check              news of the payment: the owner looks again, at a parked or cancelled order; checked: it did
--   park               the owner gives up, until \`resume\`
--
-- The owner of the partition drives an order, woken by its scheduled task \`run\`, which is due from \`place\` to the last step; so another owner continues where a killed one was. A step that comes late or twice is rejected, and the decision says where the order is.
local n = tonumber
local function text (number) return string.format('%.0f', number) end
local steps = {}
steps.held = { from = { placed = true }, to = 'held' }
steps.capture_requested = { from = { held = true }, to = 'capturing' }
steps.captured = { from = { capturing = true }, to = 'captured' }
steps.confirmed = { from = { captured = true }, to = 'confirmed' }
steps.declined = { from = { placed = true, held = true, capturing = true }, to = 'cancelling' }
steps.cancel_requested = { from = { placed = true, held = true }, to = 'cancelling' }
steps.deadline = { from = { placed = true, held = true }, to = 'cancelling' }
steps.cancelled = { from = { cancelling = true }, to = 'cancelled' }
local final = { confirmed = true, cancelled = true }

local function outcome (state) return { status = state.status, reason = state.reason, deadline = state.deadline } end
local function event (state, type, more)
  state.seq = text(n(state.seq) + 1)
  local made = more or {}
  made.seq, made.type, made.status, made.reason = state.seq, type, state.status, state.reason
  return made
end
local function accepted (state, change) return 'accepted', outcome(state), change end
local ops = {}

function ops.place (state, args, now)
  if state.status then
    local isSame = state.customer == args[2] and state.total == args[3] and state.lines == args[4] and state.address == args[5]
    if isSame then return 'exists', outcome(state) end
    return 'other_body', outcome(state)
  end
  state.status, state.customer, state.total, state.lines, state.address = 'placed', args[2], args[3], args[4], args[5]
  state.deadline, state.correlation, state.authorization, state.placedAt = text(now + n(args[6])), args[7], '', text(now)
  state.reason, state.parked, state.wasHeld, state.seq = '', '', '', state.seq or '0'
  local placed = event(state, 'placed', { customer = args[2], total = args[3], lines = args[4], address = args[5], deadline = state.deadline })
  return 'created', outcome(state), { events = { placed }, tasks = { run = text(now), deadline = state.deadline } }
end

-- the owner looks at once; a confirmed order has its payment, and one that is being driven is looked at anyway
function ops.check (state, args, now)
  if state.parked == '' and state.status ~= 'cancelled' then return 'illegal', outcome(state) end
  return accepted(state, { events = { { seq = '0', type = 'wanted' } }, tasks = { run = text(now) } })
end

function ops.checked (state)
  if not final[state.status] then return 'illegal', outcome(state) end
  return accepted(state, { events = {}, tasks = { run = false } })
end

function ops.park (state, args)
  if final[state.status] then return 'illegal', outcome(state) end
  state.parked = args[2]
  return accepted(state, { events = { event(state, 'parked', { parked = args[2] }) }, tasks = { run = false } })
end

function ops.resume (state, args, now)
  if state.parked == '' then return 'illegal', outcome(state) end
  state.parked = ''
  return accepted(state, { events = { event(state, 'resumed', { parked = '' }) }, tasks = { run = text(now) } })
end

-- given by the time of the command
local durations = { 'deadline' }

local function take (state, args, now)
  local op, step = args[1], steps[args[1]]
  if not step.from[state.status] then return 'illegal', outcome(state) end
  if op == 'deadline' and now < n(state.deadline) then return 'not_due', outcome(state) end
  if op == 'capture_requested' and now >= n(state.deadline) then return 'late', outcome(state) end
  state.status, state.parked = step.to, ''
  if step.to == 'held' then state.wasHeld = '1' end
  if step.to == 'capturing' then state.authorization = args[2] or '' end
  if step.to == 'cancelling' then state.reason = args[2] or op end
  local isFinal = final[step.to]
  local tasks = { run = not isFinal and text(now) }
  if isFinal or step.to == 'capturing' or step.to == 'cancelling' then tasks.deadline = false end
  return accepted(state, { events = { event(state, op) }, tasks = tasks, ends = isFinal })
end

return function (state, args, now, read)
  if args[1] ~= 'place' and not state.status then return 'unknown', {} end
  read.turnBack(state, durations)
  return (ops[args[1]] or take)(state, args, now)
end
`,
  'seek-members': `-- Reads the members of a sorted set next to a place in its order (score, then bytes), on its older or newer side, also if many members share that score.
-- Atomic, because ranks change with every write; paging by rank or offset alone would lose or repeat members.
-- KEYS [1] members: sorted set
-- ARGV [1] score of the place: number, [2] the place among members of that score: bytes of a member or between members, [3] side: older or newer, [4] members wanted: integer from 1 to 1,001
-- RETURNS array of 2: members that are not on that side, the place itself included: integer; array of member, score, member, score, ..., nearest first, empty at the end
-- COST O(log N * log T + wanted), T members of that score
-- MODE read
local members, score, place, newer, wanted = KEYS[1], ARGV[1], ARGV[2], ARGV[3] == 'newer', tonumber(ARGV[4])
-- @include less
local low = redis.call('ZCOUNT', members, '-inf', '(' .. score)
local high = low + redis.call('ZCOUNT', members, score, score)
while low < high do
  local middle = math.floor((low + high) / 2)
  local member = redis.call('ZRANGE', members, middle, middle)[1]
  if less(member, place) or (newer and member == place) then low = middle + 1 else high = middle end
end
if newer then return { low, redis.call('ZRANGE', members, low, low + wanted - 1, 'WITHSCORES') } end
local beyond = redis.call('ZCARD', members) - low
return { beyond, redis.call('ZREVRANGE', members, beyond, beyond + wanted - 1, 'WITHSCORES') }
`,
  'trim-ids': `-- Removes the oldest ids of a partition with their item keys: of the given ids, those that are still the oldest and not live.
-- Atomic, because a newer version may arrive between the check and the removal.
-- KEYS [1] ids: sorted set, [2..n+1] item keys: strings, in the order of the ids; all of one slot
-- ARGV [1] ts before which items are not live: ms, 0 = no age limit, [2] ids kept: integer, 0 = no limit, [3..n+2] ids, oldest first: bytes; n from 1 to 500
-- RETURNS integer, ids removed
-- COST O(log N + n)
-- MODE writes
local ids, minTs, kept, n = KEYS[1], ARGV[1], tonumber(ARGV[2]), #KEYS - 1
local dead = redis.call('ZCOUNT', ids, '-inf', '(' .. minTs)
if kept > 0 then dead = math.max(dead, redis.call('ZCARD', ids) - kept) end
if dead == 0 then return 0 end
local given, keys = {}, {}
for i = 1, n do given[ARGV[i + 2]] = KEYS[i + 1] end
for i, member in ipairs(redis.call('ZRANGE', ids, 0, math.min(dead, n) - 1)) do
  keys[i] = given[member]
  if not keys[i] then break end
end
if #keys == 0 then return 0 end
redis.call('UNLINK', unpack(keys))
return redis.call('ZREMRANGEBYRANK', ids, 0, #keys - 1)
`,
  'trim-log': `-- Removes the oldest entries of a log that have no live version, up to a limit.
-- Atomic, because a mark pairs the end of the log with the number of versions appended, and both change with every write.
-- KEYS [1] log: stream, [2] ahead: sorted set '<until>:<writer>' -> ms, [3] appended: string, versions appended, [4] marks: sorted set, entry id -> versions appended by then; all of one slot
-- ARGV [1] window: ms, 0 = no age limit, [2] versions kept: integer, 0 = no limit, [3] clock of the trimming writer: ms, [4] clock skew allowed: ms, [5] entries removed at most: integer, above stream-node-max-entries (100)
-- RETURNS integer, entries removed
-- COST O(log N + removed)
-- MODE writes
local log, ahead, appended, marks, window, kept, clock, slack, most = KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local whole = function (number) return string.format('%.0f', number) end
local removed = 0
local function trim (id)
  if removed < most then removed = removed + redis.call('XTRIM', log, 'MINID', '~', id, 'LIMIT', most - removed) end
end

if window > 0 then
  local furthest = redis.call('ZREVRANGE', ahead, 0, 0, 'WITHSCORES')[2] or 0
  local oldest = math.floor(math.min(now - slack, clock)) - window - furthest
  if oldest > 0 then trim(whole(oldest)) end
end

if kept > 0 then
  local total = tonumber(redis.call('GET', appended) or 0)
  local marked = tonumber(redis.call('ZREVRANGE', marks, 0, 0, 'WITHSCORES')[2] or -1)
  -- the counter was reset
  if marked > total then redis.call('DEL', marks) end
  if marked > total or marked < 0 or total - marked >= kept / 64 then
    local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
    if newest then redis.call('ZADD', marks, whole(total), newest[1]) end
  end
  local beyond = redis.call('ZREVRANGEBYSCORE', marks, whole(total - kept), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if beyond[1] then
    local ms, n = string.match(beyond[1], '^(%d+)-(%d+)$')
    trim(ms .. '-' .. whole(n + 1))
    redis.call('ZREMRANGEBYSCORE', marks, '-inf', '(' .. beyond[2])
  end
  local ttl = redis.call('PTTL', log)
  if ttl > 0 then redis.call('PEXPIRE', marks, ttl) end
end

local announced = redis.call('ZRANGE', ahead, 0, 999)
if #announced > 0 then
  local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  local from = math.min(now, oldest and tonumber(string.match(oldest[1], '^%d+')) or now)
  for _, member in ipairs(announced) do
    local till = tonumber(string.match(member, '^(%d+):'))
    -- members in another format would stay for ever
    if not till or till < from then redis.call('ZREM', ahead, member) end
  end
end
return removed
`,
  'trim-values': `-- Removes the oldest versions of a partition that are not live, up to a limit.
-- Atomic, because every write changes what is live: a trimmer that counted earlier would remove live versions.
-- KEYS [1] values: sorted set
-- ARGV [1] ts before which versions are not live: ms, 0 = no age limit, [2] versions kept: integer, 0 = no limit, [3] versions removed at most: integer
-- RETURNS integer, versions that were not live, removed or not
-- COST O(log N + removed)
-- MODE writes
local values, minTs, kept, most = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local dead = redis.call('ZCOUNT', values, '-inf', '(' .. minTs)
if kept > 0 then dead = math.max(dead, redis.call('ZCARD', values) - kept) end
if dead > 0 then redis.call('ZREMRANGEBYRANK', values, 0, math.min(dead, most) - 1) end
return dead
`,
  'turn-back': `-- Notes that the clock of a primary went back by more than a second. Tasks that are durations move with it, since they were to run that long after they were set; tasks at a time that others gave stay.
-- Atomic, because tasks, holds and ids of the outbox must follow the same clock, and only one process may move them.
-- KEYS [1] generation: hash, [2] tasks: sorted set
-- ARGV [1..n] rule and name of the tasks that are durations
-- RETURNS integer, by how many ms it went back; 0 if that is noted already
-- COST O(n log n) of tasks
-- MODE writes
local generation, tasks, durations = KEYS[1], KEYS[2], {}
-- @include clock
local went = last - now
if went <= 1000 then return 0 end
for i = 1, #ARGV do durations[ARGV[i]] = true end
local flat = redis.call('ZRANGE', tasks, 0, -1, 'WITHSCORES')
for i = 1, #flat, 2 do
  local rule, name = string.match(flat[i], '^(%S+) %S+ (%S+)$')
  if rule and durations[rule .. ' ' .. name] then redis.call('ZADD', tasks, string.format('%.0f', flat[i + 1] - went), flat[i]) end
end
redis.call('HSET', generation, 'now', string.format('%.0f', now), 'back', string.format('%.0f', back + went))
-- until its driver renews its lease
redis.call('HDEL', generation, 'wait')
return went
`
})
