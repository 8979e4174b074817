/**
 * Written from lua/ by `npm run lua`; change the files there. Names are those of the files, without their ending.
 * @type {Readonly<Record<string, string>>}
 */
export const LUA = Object.freeze({
  'admit': `-- Decides up to 256 commands of one partition, in order: first all of them, then it stores what the accepted ones do.
-- Atomic, because a decision, its state, events and outbox must not come apart, nor another command come in between. Nothing is written while a rule runs, so that FUNCTION KILL stops one that never ends.
-- KEYS [1] outbox: stream, [2] tasks: sorted set, [3] generation: hash, [4..n+3] request of each command: string, without an id it is not stored, [n+4..] of each target: state: hash, events: stream, and what its rule keeps: members: hash, holds: sorted set, waiting: sorted set
-- ARGV [1] replication id of the primary that the caller sees, [2] expiry of requests, and of the outbox: ms, [3] expiry of ended keys: ms, [4] entries of the outbox above which nothing is decided if consumers need older ones than that, 0 = no bound, [5] JSON array of the targets, each an array of rule and key, and of the number of the target of each command, below 0 for a scheduled task that is decided only while it is due, [6..n+5] of each command: JSON array of arguments, [n+6] of the commands that start work: JSON array of the ms that the oldest work of the partition may have waited and their numbers, empty = none
-- RETURNS generation, now in ms, then of each command a text, its lines: accepted, rejected, replay, other_body or failed; code, or why it failed; sequence; version; details as JSON; \`refused\` in place of the lines of one that starts work while that has waited longer; then that wait in ms, empty while no process drives the partition; a generation alone when it belongs to another replication id, or to call again; \`backlog\` in place of the commands when the outbox is full, \`rules\` when a rule is stored in another version, \`back\` when the clock went back; then of each key that was mended, lines: rule, key, the sequence of its state, that of its stream
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

-- \`text\`: as it is stored, and returned, behind its status
local function decided (status, code, target, details, request, body)
  return {
    status = status, text = '\\n' .. code .. '\\n' .. target.seqText .. '\\n' .. target.versionText .. '\\n' .. details, target = target, request = request,
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
  decisions[i], isDecided = ok and decision or 'failed\\n' .. whyOf(decision), isDecided or ok
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
    replies[#replies + 1] = target.rule .. '\\n' .. target.key .. '\\n' .. numberText(target.behind) .. '\\n' .. numberText(isOurs and target.reached or target.seq + target.shift)
  end
end
targets, entries, requested, changed, accepted, requests, returned, ofKey, dues = nil, nil, nil, nil, nil, nil, nil, nil, nil
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
  'find-members': `-- Finds members of one score of a sorted set by how they begin, also where very many others share that score and lie between.
-- Atomic, because ranks change with every write.
-- KEYS [1] members: sorted set
-- ARGV [1] score: number, [2..n] bytes behind all members that begin as wanted, ascending, at most 500
-- RETURNS array: for each the last member at or before it, of that score, or false
-- COST O(n * log D * log N), D members between two of them
-- MODE read
local members, score = KEYS[1], ARGV[1]
-- @include less
local first = redis.call('ZCOUNT', members, '-inf', '(' .. score)
local behind = first + redis.call('ZCOUNT', members, score, score)
local found, at = {}, first
local function isBehind (rank, bound) return rank >= behind or less(bound, redis.call('ZRANGE', members, rank, rank)[1]) end
for i = 2, #ARGV do
  local bound, step = ARGV[i], 1
  -- ever further steps from the one before, then the middle of the last
  while not isBehind(at + step - 1, bound) do
    at = at + step
    step = step * 2
  end
  local high = at + step - 1
  while at < high do
    local middle = math.floor((at + high) / 2)
    if isBehind(middle, bound) then high = middle else at = middle + 1 end
  end
  found[i - 1] = at > first and redis.call('ZRANGE', members, at - 1, at - 1)[1]
end
return found
`,
  'heartbeat': `-- Says that a process of consumers lives, and which others do: the leases of its partitions last as long as it does.
-- Atomic, because all of them must reckon with one clock.
-- KEYS [1] consumers: sorted set by time of the last heartbeat
-- ARGV [1] id of the process, [2] 1 = it lives, 0 = it leaves, [3] ms after which one without a heartbeat is gone
-- RETURNS now in ms; 1 if this process lived at its last heartbeat, 0 if others may have its leases; then of each that lives its id, and for how many ms it still does so without another heartbeat
-- COST O(n log n) of processes
-- MODE writes
local consumers, id, lives, gone = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local nowText = string.format('%.0f', now)
local reply = { nowText, 0 }
local beats = redis.call('ZRANGE', consumers, 0, -1, 'WITHSCORES')
for i = 1, #beats, 2 do
  local one, leftMs = beats[i], beats[i + 1] + gone - now
  -- a heartbeat that came while the clock was ahead counts as a new one
  if leftMs > gone then
    leftMs = gone
    if one ~= id then redis.call('ZADD', consumers, nowText, one) end
  end
  if leftMs <= 0 then
    redis.call('ZREM', consumers, one)
  elseif one == id then
    reply[2] = 1
  else
    reply[#reply + 1], reply[#reply + 2] = one, string.format('%.0f', leftMs)
  end
end
if lives == '1' then
  redis.call('ZADD', consumers, nowText, id)
  reply[#reply + 1], reply[#reply + 2] = id, string.format('%.0f', gone)
else
  redis.call('ZREM', consumers, id)
end
return reply
`,
  'includes/allowed': `-- What can be known of the writes of a command before the first one: types of keys, and permissions. Its decision fails here, with nothing stored.
-- The server has checked all keys of the call. Before Redis 7.0 servers cannot say what the user may run. Lua does not roll back, so this is asked before the first write.

local function expectAllowed (target, command, ...)
  if redis.acl_check_cmd(command, ...) then return end
  error('NOPERM the user may not run all commands of ' .. target.rule .. ' (NOPERM the user may not run ' .. command .. '); see docs/acl', 0)
end

local function expectOutbox () redis.call('XLEN', outbox) end

-- Asked once a call, of all commands that may be needed.
local function expectCommands (target, request)
  local state, events = target.state, target.events
  if not areRead then
    local ok, why = pcall(expectOutbox)
    if not ok then
      outboxFault = whyOf(why)
      error(why, 0)
    end
  end
  if redis.acl_check_cmd then
    expectAllowed(target, 'HSET', state, 'a', 'b')
    expectAllowed(target, 'HDEL', state, 'a')
    expectAllowed(target, 'XADD', events, '*', 'a', 'b')
    expectAllowed(target, 'XTRIM', events, 'MAXLEN', '1')
    expectAllowed(target, 'SET', request, 'a', 'PX', '1')
    expectAllowed(target, 'PEXPIRE', state, '1')
    expectAllowed(target, 'ZADD', tasks, '1', 'a')
    expectAllowed(target, 'ZREM', tasks, 'a')
    expectAllowed(target, 'HINCRBY', generation, 'n', '1')
  end
  isAllowed = true
end

local function expectTasks ()
  if not mayHoldTasks then redis.call('ZCARD', tasks) end
  mayHoldTasks = true
end

-- its reads have found the types of the others
local function expectType (name, key)
  if name == 'members' then redis.call('HGET', key, '') else redis.call('ZCARD', key) end
end

local function expectParts (target)
  local kept = target.kept
  if change.holds and kept.holds.stored == none then storedIn(kept.holds, 1) end
  if not (change.members and not kept.members.isTyped or change.waiting and not kept.waiting.isTyped) then return end
  for name, part in pairs(target.kept) do
    local key = part.key
    if change[name] and not part.isTyped then
      expectType(name, key)
      part.isTyped = true
    end
  end
end

-- A key that has ended has an expiry, and this word in its state; a part that is written later needs one, too.
local function expectEnd (target)
  local state = target.state
  if find(target.done, 'ended', 1, true) then target.ends = redis.call('PTTL', state) > 0 end
end

local function expectWritable (target, request)
  if not isAllowed then expectCommands(target, request) end
  if not mayHoldTasks and (change.holds or change.tasks and next(change.tasks)) then expectTasks() end
  if target.kept ~= none then expectParts(target) end
  if target.done ~= '' and target.ends == nil then expectEnd(target) end
end
`,
  'includes/changes': `-- What the accepted commands of a call change, in memory: commands of the same key that follow see it, and it is written once all are decided.
-- of the command that is decided, as it is stored
local change

local function checkChange (keeps, given)
  if isOurs then
    change = given
    return
  end
  change = {}
  expectChange(keeps, given)
  local tasks, members, holds, waiting = given.tasks, keeps.members and given.members, keeps.holds and given.holds, keeps.waiting and given.waiting
  change.events, change.signals = given.events and eventsOf('events', given.events) or none, given.signals and eventsOf('signals', given.signals) or none
  change.tasks, change.members = tasks and tasksOf(tasks), members and membersOf(members)
  change.holds = holds and numbersOf('holds', 'hold', holds, 'ms since 1970')
  change.waiting = waiting and numbersOf('waiting', 'place', waiting, 'a number')
  change.ends, change.reopens, change.quiet, change.keepEvents = given.ends, given.reopens, given.quiet, given.keepEvents
end

local function flatOf (event)
  local flat, at = { 'type', event.type, nil, nil, nil, nil, nil, nil, nil, nil }, 2
  for name, value in pairs(event) do
    if name ~= 'type' then flat[at + 1], flat[at + 2], at = name, value, at + 2 end
  end
  return flat
end

local function addEntry (target, request, event, seqText)
  if isOurs then event = flatOf(event) end
  entries[#entries + 1] = {
    target = target, event = event, hasStream = seqText ~= '0' and change.keepEvents ~= 0, seqText = seqText, versionText = target.versionText,
    request = request, isAdded = false, id = false
  }
end

local function keepParts (target, task)
  local kept, members, holds, waiting = target.kept, change.members, change.holds, change.waiting
  if members then
    for name, value in pairs(members) do setMember(kept.members, name, value) end
  end
  if holds then
    for name, due in pairs(holds) do setScore(kept.holds, name, back == 0 and due or steadyOf(due)) end
    dues[task .. 'expire'] = firstHold(kept) or false
  end
  if waiting then
    for name, place in pairs(waiting) do setScore(kept.waiting, name, place) end
  end
end

-- of the same field the last value counts
local function mergeSets (sets, more)
  local at = {}
  for i = 5, #sets, 2 do at[sets[i]] = i + 1 end
  for i = 5, #more, 2 do
    local name = more[i]
    if at[name] then
      sets[at[name]] = more[i + 1]
    else
      sets[#sets + 1] = name
      sets[#sets + 1] = more[i + 1]
    end
  end
end

local function keepChange (target, sets, request)
  if target.sets then
    mergeSets(target.sets, sets)
  else
    changed[#changed + 1], target.sets = target, sets
  end
  target.version = target.version + 1
  target.versionText = format('%.0f', target.version)
  if (change.keepEvents or 0) > 0 then target.keepEvents = change.keepEvents end
  local events, signals = change.events or none, change.signals or none
  for i = 1, #events do
    target.seq = target.seq + 1
    target.seqText = format('%.0f', target.seq)
    addEntry(target, request, events[i], target.seqText)
  end
  for i = 1, #signals do addEntry(target, request, signals[i], '0') end
  -- readers read the state again
  if not events[1] and not signals[1] and not change.quiet then addEntry(target, request, isOurs and { type = '@changed' } or { 'type', '@changed' }, '0') end
  local task = (change.tasks or change.holds) and target.rule .. ' ' .. target.key .. ' '
  if task then
    for name, due in pairs(change.tasks or none) do dues[task .. name] = due end
  end
  if target.kept ~= none then keepParts(target, task) end
  if change.ends and not target.ends then
    target.ends, target.done = true, target.done .. ' ended'
  end
  if change.reopens then reopened = reopened + 1 end
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

-- A replacement that counts what it adds. A table stays a table, because gsub reads only the first capture for it, and all for a function.
local function counted (replace, size)
  local function add (value)
    local kind = type(value)
    if kind == 'string' or kind == 'number' then size = size + #textOfNumber(value) end
    if size > MOST_BYTES then failAbove('gsub', 0) end
    return value
  end
  if type(replace) == 'function' then return function (...) return add(replace(...)) end end
  return setmetatable({}, { __index = function (_, key) return add(replace[key]) end })
end

-- a number is a text here, as in Lua; what is neither fails in gsub
local function expectShort (s, p, replace, most)
  local text = textOfNumber(replace)
  if type(s) == 'number' then s = textOfNumber(s) end
  if type(s) ~= 'string' then return end
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
    if kind == 'string' or kind == 'number' then expectShort(s, p, replace, ...) end
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
  'includes/kept': `-- What a rule keeps of a key besides its state and events: parts { key, changed }. Changes are in memory until all commands are decided, and reads see them.
-- Nothing is written meanwhile, so what was read of the server stays true: members in \`read\`, the lowest names of a sorted set in \`stored\`.
local none = {}
-- @include less
-- Holds are durations, so their scores are on the steady clock of the partition; rules give and get times on the server's.
local function steadyOf (due) return due and (back == 0 and due or string.format('%.0f', due + back)) end
local function timeOf (score) return score and (back == 0 and score or string.format('%.0f', score - back)) end

local function expectText (name)
  if type(name) ~= 'string' then error('a name to read is a ' .. type(name) .. '; expected a text', 0) end
end

local function isBefore (one, score, name) return one[2] < score or one[2] == score and less(one[1], name) end

-- changed names with a score are in \`added\`, the lowest first; this is where one is, or would be
local function placeIn (added, score, name)
  local low, high = 1, #added + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isBefore(added[middle], score, name) then low = middle + 1 else high = middle end
  end
  return low
end

local function scoreIn (part, name)
  expectText(name)
  local key, score = part.key, part.changed[name]
  if score == nil then return redis.call('ZSCORE', key, name) end
  return score
end

local function setMember (part, name, value)
  if part.changed == none then part.changed = {} end
  part.changed[name] = value or false
end

local function setScore (part, name, value)
  local before = part.changed[name]
  if part.count then part.count = part.count + (value and 1 or 0) - ((before or before == nil and scoreIn(part, name)) and 1 or 0) end
  if part.added == none then part.added = {} end
  local added = part.added
  if before then table.remove(added, placeIn(added, tonumber(before), name)) end
  if value then
    local score, last = tonumber(value), added[#added]
    local entry = { name, score, value }
    if not last or last[2] < score then added[#added + 1] = entry else table.insert(added, placeIn(added, score, name), entry) end
  end
  setMember(part, name, value)
end

-- the stored names from the lowest on; more of them are read when they are needed
local function storedIn (part, i)
  local key, stored = part.key, part.stored
  if stored[i] or part.isWhole then return stored[i] end
  local count = math.max(#stored, math.min(part.wanted, 16))
  local flat = redis.call('ZRANGE', key, #stored, #stored + count - 1, 'WITHSCORES')
  part.isWhole, part.isTyped = #flat < 2 * count, true
  if stored == none then
    stored = {}
    part.stored = stored
  end
  for at = 1, #flat, 2 do stored[#stored + 1] = { flat[at], tonumber(flat[at + 1]), flat[at + 1] } end
  return stored[i]
end

-- names and scores up to a bound, the lowest first
local function lowestIn (part, most, bound)
  local found, at, i, limit = {}, 1, part.first, bound == '+inf' and math.huge or tonumber(bound)
  part.wanted = most
  while #found < most do
    local one, other = storedIn(part, i), part.added[at]
    if one and part.changed[one[1]] ~= nil then
      if i == part.first then part.first = i + 1 end
      i = i + 1
    else
      local isStored = one and not (other and isBefore(other, one[2], one[1]))
      local next = isStored and one or other
      if not next or next[2] > limit then break end
      found[#found + 1] = next
      if isStored then i = i + 1 else at = at + 1 end
    end
  end
  return found
end

local function countAll (part)
  if part.count then return part.count end
  local key = part.key
  local count = redis.call('ZCARD', key)
  for name, score in pairs(part.changed) do count = count + (score and 1 or 0) - (redis.call('ZSCORE', key, name) and 1 or 0) end
  part.count = count
  return count
end

-- how many names have a score below a bound
local function countBelow (part, bound)
  local key, most = part.key, tonumber(bound)
  local count = redis.call('ZCOUNT', key, '-inf', '(' .. bound)
  local function isBelow (score) return score and tonumber(score) < most and 1 or 0 end
  for name, score in pairs(part.changed) do count = count + isBelow(score) - isBelow(redis.call('ZSCORE', key, name)) end
  return count
end

local function writeMembers (part)
  local key, set, at, gone = part.key, {}, 0, none
  for name, value in pairs(part.changed) do
    if value then
      set[at + 1], set[at + 2], at = name, value, at + 2
    else
      gone = gone == none and {} or gone
      gone[#gone + 1] = name
    end
  end
  for i = 1, at, 1000 do redis.call('HSET', key, unpack(set, i, i + 999 < at and i + 999 or at)) end
  for i = 1, #gone, 1000 do redis.call('HDEL', key, unpack(gone, i, i + 999 < #gone and i + 999 or #gone)) end
end

local function writeScores (part)
  local key, set, at, gone = part.key, {}, 0, none
  for name, score in pairs(part.changed) do
    if score then
      set[at + 1], set[at + 2], at = score, name, at + 2
    else
      gone = gone == none and {} or gone
      gone[#gone + 1] = name
    end
  end
  for i = 1, at, 1000 do redis.call('ZADD', key, unpack(set, i, i + 999 < at and i + 999 or at)) end
  for i = 1, #gone, 1000 do redis.call('ZREM', key, unpack(gone, i, i + 999 < #gone and i + 999 or #gone)) end
end

local function writeKept (kept)
  local members, holds, waiting = kept.members, kept.holds, kept.waiting
  if members and members.changed ~= none then writeMembers(members) end
  if holds and holds.changed ~= none then writeScores(holds) end
  if waiting and waiting.changed ~= none then writeScores(waiting) end
end

local function firstHold (kept)
  local part = kept.holds
  part.wanted = 1
  local one, other = storedIn(part, part.first), part.added[1]
  while one and part.changed[one[1]] ~= nil do
    part.first = part.first + 1
    one = storedIn(part, part.first)
  end
  if one and not (other and isBefore(other, one[2], one[1])) then return timeOf(one[3]) end
  return timeOf(other and other[3])
end

-- what the rule of the command that is decided reads with; what is not there is false
local read = {}
local function names (found)
  for i, one in ipairs(found) do found[i] = one[1] end
  return found
end
function read.member (name)
  local part = ofKey.members
  local key, value = part.key, part.changed[name]
  if value == nil then value = part.read[name] end
  if value ~= nil then return value end
  expectText(name)
  if part.read == none then part.read = {} end
  value = redis.call('HGET', key, name)
  part.read[name], part.isTyped = value, true
  return value
end
function read.holdUntil (name) return timeOf(scoreIn(ofKey.holds, name)) end
function read.firstHold () return firstHold(ofKey) end
function read.holdsDue (before, most) return names(lowestIn(ofKey.holds, most, before == '+inf' and before or steadyOf(before))) end
function read.waiting (most) return names(lowestIn(ofKey.waiting, most, '+inf')) end
function read.waitingCount () return countAll(ofKey.waiting) end
function read.position (name)
  local place = scoreIn(ofKey.waiting, name)
  return place and countBelow(ofKey.waiting, place) + 1
end
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
  'includes/partition': `-- One command reads what is stored of the partition, and the versions of the rules of this call.
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
  'includes/returned': `-- What a rule returned and the state it left, checked once, and as texts. An error has no position of its own: it is about what was returned.
-- A value joined with an empty text is the same text, and costs no call; a number becomes another one, and all other types fail there: \`blame\` then says what is wrong.
local reserved = { id = true, key = true, request = true, rule = true, seq = true, ts = true, type = true, version = true }
local kinds = { events = 'table', signals = 'table', tasks = 'table', ends = 'boolean', reopens = 'boolean', quiet = 'boolean', keepEvents = 'number' }
-- bytes of a text, and of an event or the details in all; names in a part, and events
local mostBytes, mostNames, mostShown = 2 ^ 20, 10000, 200
local function fail (what, value, expected)
  returned = nil
  local shown = type(value) == 'number' and format('%.17g', value) or type(value) == 'string' and "'" .. sub(value, 1, mostShown) .. "'" or
    'a ' .. type(value)
  error(sub(what, 1, mostShown) .. ' is ' .. shown .. '; expected ' .. expected, 0)
end

-- an error of any type, as a line; those of all commands of a call must fit into one reply
local function whyOf (raised)
  local isText = type(raised) == 'string' or type(raised) == 'number'
  return isText and string.gsub(sub(raised, 1, 4096), '\\n', ' ') or 'it raised a ' .. type(raised) .. '; expected a text'
end

local function isWhole (value)
  return type(value) == 'number' and value == math.floor(value) and math.abs(value) <= 2 ^ 53
end

local function textOf (what, name, value)
  if type(value) == 'string' then
    if #value > mostBytes then fail('the length of ' .. what .. '.' .. name, #value, 'at most 1 MiB') end
    return value
  end
  if not isWhole(value) then fail(what .. '.' .. name, value, 'a text, or a whole number up to 2^53') end
  return format('%.0f', value + 0)
end

local function expectName (what, name)
  if type(name) ~= 'string' or name == '' then fail('a name in ' .. what, name, 'a text') end
  if #name > mostBytes then fail('the length of a name in ' .. what, #name, 'at most 1 MiB') end
end

local function expectBytes (what, bytes)
  if bytes > mostBytes then fail('the length of ' .. what, bytes, 'at most 1 MiB in all') end
end

-- asked once a call of each
local types, codes
local function expectType (what, given, kind)
  if type(kind) ~= 'string' then fail(what, given, "a table with a field 'type'") end
  if sub(kind, 1, 1) == '@' then fail(what .. '.type', kind, 'a text that does not begin with @') end
  types[kind] = true
end

local function expectCode (code)
  if type(code) ~= 'string' or #code > 64 or not find(code, '^[^%c]+$') then
    fail('the code', code, '1-64 characters without control characters')
  end
  codes[code] = true
end

-- names and values in turn, as XADD takes them
local function eventOf (what, given)
  local kind = given.type
  if not types[kind] then expectType(what, given, kind) end
  local flat, at, bytes = { 'type', kind, nil, nil, nil, nil, nil, nil }, 2, #kind
  for name, value in pairs(given) do
    if name ~= 'type' then
      if reserved[name] or name == '' then
        expectName(what, name)
        fail('a field of ' .. what, name, 'another name, because the engine writes this one')
      end
      local ofName, text = name .. '', value .. ''
      if ofName ~= name then expectName(what, name) end
      if text ~= value then text = textOf(what, name, value) end
      flat[at + 1], flat[at + 2], at, bytes = name, text, at + 2, bytes + #name + #text
    end
  end
  expectBytes(what, bytes)
  if at > 2002 then fail('the number of fields of ' .. what, at / 2 - 1, 'at most 1000') end
  return flat
end

local function expectCount (what, given)
  local count = 0
  for _ in pairs(given) do count = count + 1 end
  if count > mostNames then fail('the number of ' .. what, count, 'at most ' .. mostNames) end
  return count
end

local function eventsOf (what, given)
  local events, i, event = {}, 1, given[1]
  -- most have one
  if event == nil or next(given, 1) ~= nil then
    local count = expectCount(what, given)
    if count > #given then fail(what, given, 'a list of tables') end
  end
  while event ~= nil do
    events[i], i = eventOf(what .. '[' .. i .. ']', event), i + 1
    event = given[i]
  end
  return events
end

local function numbersOf (part, what, given, expected)
  local made, count = {}, 0
  for name, value in pairs(given) do
    count = count + 1
    if count > mostNames then expectCount(part, given) end
    expectName(part, name)
    if value and type(value) == 'string' and #value < 16 and find(value, '^[1-9]%d*$') then
      made[name] = value
    else
      local number = value and tonumber(value)
      if value and not (isWhole(number) and number >= 0) then fail(what .. ' ' .. name, value, expected .. ', or false to remove it') end
      made[name] = number and format('%.0f', number + 0)
    end
  end
  return made
end

local function tasksOf (given)
  for name in pairs(given) do
    if type(name) ~= 'string' or #name > 64 or not find(name, '^[^%c%s]+$') then
      fail('the name of a task', name, '1-64 characters without control characters and blanks')
    end
  end
  return numbersOf('tasks', 'task', given, 'ms since 1970')
end

local function membersOf (given)
  local made = {}
  expectCount('members', given)
  for name, value in pairs(given) do
    expectName('members', name)
    made[name] = value and textOf('members', name, value)
  end
  return made
end

local function isFlag (value) return value == nil or value == true or value == false end

-- names of what follows, and values that nothing else looks at
local function expectChange (keeps, given)
  for name in pairs(given) do
    if not (kinds[name] or keeps[name]) then
      fail('a name in the third value', name, 'events, tasks, ends or reopens, signals, quiet or keepEvents, or what keeps of the rule declares')
    end
  end
  local ends, reopens, most = given.ends, given.reopens, given.keepEvents
  if ends ~= nil or reopens ~= nil then
    if not isFlag(ends) then fail('ends', ends, 'a boolean') end
    if not isFlag(reopens) then fail('reopens', reopens, 'a boolean') end
  end
  if most and not (isWhole(most) and most >= 0) then fail('keepEvents', most, 'a whole number from 0 on') end
end

local function blameValues (what, given)
  if type(given) ~= 'table' then fail(what, given, 'a table of names and values') end
  for name, value in pairs(given) do
    expectName(what, name)
    textOf(what, name, value)
  end
end

-- Why what was returned failed without a reason of its own: something in it has another type.
local function blame (keeps, details, change, fields)
  blameValues('the details', details)
  if change and type(change) ~= 'table' then fail('the third value', change, 'a table, or nothing') end
  for name, value in pairs(change or {}) do
    local kind = keeps[name] and 'table' or kinds[name]
    if type(value) ~= kind then fail(name, value, 'a ' .. kind) end
    for i, event in ipairs((name == 'events' or name == 'signals') and value or {}) do blameValues(name .. '[' .. i .. ']', event) end
  end
  blameValues('state', fields)
end

-- as JSON; numbers stay numbers, with all their digits
local function detailsOf (given)
  local bytes, numbers, texts = 0, nil, nil
  for name, value in pairs(given) do
    local ofName, text = name .. '', value .. ''
    if ofName ~= name or name == '' then expectName('the details', name) end
    if text ~= value then
      text, numbers = textOf('the details', name, value), numbers or {}
      numbers[#numbers + 1] = (find(name, '^[%w_]+$') and '"' .. name .. '"' or cjson.encode(name)) .. ':' .. text
    end
    bytes = bytes + #name + #text
  end
  expectBytes('the details', bytes)
  if bytes == 0 then return '{}' end
  if not numbers then return cjson.encode(given) end
  for name, value in pairs(given) do
    if type(value) == 'string' then
      texts = texts or {}
      texts[name] = value
    end
  end
  if texts then table.insert(numbers, 1, sub(cjson.encode(texts), 2, -2)) end
  return '{' .. table.concat(numbers, ',') .. '}'
end

local engine = { [shown[1]] = true, [shown[2]] = true, ['@done'] = true }
-- The fields that differ from those of \`list\`, names and values in turn, behind those of the engine; false for one that is gone. \`fields\` is emptied.
local function changesOf (target, list, fields)
  local sets, at = { shown[1], false, shown[2], false, nil, nil, nil, nil }, 4
  for name in pairs(engine) do
    if not isOurs and fields[name] ~= nil then fail('a field of the state', name, 'a name that does not begin with @') end
  end
  for j = 1, #list, 2 do
    local name, before = list[j], list[j + 1]
    local value = fields[name]
    if value ~= before and not engine[name] then
      if value == nil then
        if before then sets[at + 1], sets[at + 2], at, target.hasGone = name, false, at + 2, true end
      else
        local text = value .. ''
        if text ~= value or #text > mostBytes then text = textOf('state', name, value) end
        if text ~= before then sets[at + 1], sets[at + 2], at = name, text, at + 2 end
      end
    end
    fields[name] = nil
  end
  for name, value in next, fields do
    if not engine[name] then
      expectName('state', name)
      if sub(name, 1, 1) == '@' then fail('a field of the state', name, 'a name that does not begin with @') end
      sets[at + 1], sets[at + 2], at = name, textOf('state', name, value), at + 2
    end
  end
  return sets
end
`,
  'includes/rules': `-- Our rules, and what the script knows of them. For a system of a user the loader puts the rules of that user in place of this part.
-- \`shown\`: names of the fields of a state that have the number of its last event and its version, which the rules see.
local rules, versions, keptEvents, parts, shown = {}, {}, {}, { bounded = { 'members', 'holds', 'waiting' } }, { 'seq', 'version' }
local function guards () end
-- @include rules/max
-- @include rules/bounded
-- @include rules/latest
-- @include rules/once
-- @include rules/step
`,
  'includes/targets': `-- The keys of a call: the state of each as its commands change it, and what its rule keeps. All are read before anything is decided.

-- With rules of ours \`fields\` is the state as it was read. With those of users it is a list of names and values, which costs no copy to compare.
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
`,
  'includes/writes': `-- Writes what was decided: events first, which say whether the stream is ahead of the state, then requests, so that none is decided twice, the outbox, and the key itself. If a write of a key fails although it was checked, its others are undone, and all of its commands in this call fail.
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
  if target.failure then return 'failed\\n' .. target.failure end
  if target.shift == 0 then return text end
  local code, seq, more = string.match(text, '^(\\n[^\\n]*\\n)(%d+)(.*)$')
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
`,
  'lease': `-- Takes the lease of a partition if it is free, or confirms it, or gives it back, notes the clock, and how long its work waits.
-- Atomic, because only one process may find it free. A lease lasts while its process sends heartbeats (heartbeat.lua). The token grows with each ownership, so that what an earlier owner sends late is refused.
-- KEYS [1] owner: hash, [2] generation: hash, [3] cursors: hash of consumers, [4] outbox: stream, [5] consumers: sorted set by time of the last heartbeat
-- ARGV [1] id of the process, [2] token that it holds, 0 = none, [3] ms after which a process without a heartbeat has no leases, 0 = this one is given back, [4] a new token is higher than this one, [5] ms that the oldest work of the partition has waited for this process, empty if the process does not drive it, [6] consumer that drives it: nothing has waited longer than its oldest entry; empty = scheduled tasks
-- RETURNS integer, the token; 0 if another process holds the lease
-- COST O(log N) of processes
-- MODE writes
local owner, generation, cursors, outbox, consumers, id, held, lease, least, waited, driver = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], ARGV[6]
-- @include clock
local known = redis.call('HMGET', owner, 'id', 'token')
local other, token = known[1] or '', tonumber(known[2] or '0')
if held ~= '0' then
  if other ~= id or known[2] ~= held then return 0 end
else
  local seen = other ~= '' and other ~= id and tonumber(redis.call('ZSCORE', consumers, other) or '-inf')
  -- a heartbeat that came while the clock was ahead counts as a new one
  if seen and seen > now then redis.call('ZADD', consumers, string.format('%.0f', now), other) end
  if seen and now < seen + lease then return 0 end
  -- as a heartbeat: others would find the lease free
  redis.call('ZADD', consumers, string.format('%.0f', now), id)
  token = math.max(token, least) + 1
end
if held == '0' or lease == 0 then redis.call('HSET', owner, 'id', lease > 0 and id or '', 'token', token) end
local sets = {}
-- a clock that went back is noted by turn-back, which needs the time before
if now > last then sets = { 'now', string.format('%.0f', now) } end
if waited ~= '' then
  local wait, untilMs = tonumber(waited), now + lease
  if driver ~= '' and wait > 0 then
    local cursor = redis.call('HGET', cursors, driver)
    local oldest = redis.call('XRANGE', outbox, cursor and '(' .. cursor or '-', '+', 'COUNT', 1)[1]
    -- ids are on the steady clock of the partition
    wait = oldest and math.min(wait, now + back - tonumber(string.match(oldest[1], '^%d+'))) or 0
  end
  -- that nothing waits is said less often (src/consumers/ownership.js)
  if wait <= 0 then untilMs = now + 4 * lease end
  sets[#sets + 1], sets[#sets + 2] = 'wait', string.format('%.0f %.0f', untilMs, math.max(0, wait))
end
if #sets > 0 then redis.call('HSET', generation, unpack(sets)) end
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
local members = redis.call('ZRANGE', ids, lowest, '+inf', 'BYSCORE')
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
-- VERSION 4
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
local ops, kinds = {}, { 'members', 'holds', 'waiting' }
-- The units of a sale: how a command changes their numbers, and the event of it.
local n = tonumber
local function text (number) return string.format('%.0f', number) end
local function add (state, field, more) state[field] = text(n(state[field]) + more) end
local function outcome (state, more)
  local made = more or {}
  made.available, made.held, made.sold, made.seq = state.available, state.held, state.sold, state.seq
  return made
end
local function nothing () return { events = {}, members = {}, holds = {}, waiting = {}, quiet = true } end
local function event (state, type, claim, user, quantity)
  add(state, 'seq', 1)
  return { type = type, claim = claim, user = user, quantity = quantity, available = state.available, held = state.held, sold = state.sold }
end
local function note (change, event) change.events[#change.events + 1] = event end
-- the units of a user, of whom there is no member without any
local function unitsOf (name, read, members)
  local units = members and members[name]
  if units == nil then units = read.member(name) end
  if units and text(n(units) or 0 / 0) ~= units then error('the units of ' .. name .. ' are not an integer: ' .. units, 0) end
  return n(units or '0')
end
local function count (change, user, more, read)
  local name = 'user ' .. user
  local units = unitsOf(name, read, change.members) + more
  change.members[name] = units ~= 0 and text(units)
end
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
  change.keepEvents = state.rememberMs and 1000 or nil
  return change
end

local function free (state, change, now, claim, status, quantity, user, since, type, read)
  add(state, status == 'sold' and 'sold' or 'held', -n(quantity))
  add(state, 'available', n(quantity))
  note(change, event(state, type, claim, user, quantity))
  change.members['claim ' .. claim] = type .. ' ' .. quantity .. ' ' .. user .. ' ' .. since
  count(change, user, -n(quantity), read)
  change.holds[claim] = rememberedUntil(state, now)
end
-- The waiting room: people join, are admitted in order as slots and units become free, and leave.
-- of the mean time that an admitted person takes, the share of a new one is one in
local turnWeight = 8

local function admitOne (state, now, change, read, user, place, claim)
  local untilMs = text(now + n(state.holdMs))
  add(state, 'available', -1)
  add(state, 'held', 1)
  local held = event(state, 'held', claim, user, '1')
  held['until'], held.place = untilMs, place
  note(change, held)
  change.members['claim ' .. claim] = 'held 1 ' .. user .. ' ' .. state.seq
  count(change, user, 1, read)
  change.holds[claim], change.waiting[user] = untilMs, false
end

local function slotsLeft (state) return math.min(n(state.slots) - n(state.held), n(state.available)) end

local function admit (state, now, read, change, leaving)
  local free = slotsLeft(state)
  if state.mode ~= 'queue' or free <= 0 or blocked(state, now) then return end
  for _, user in ipairs(read.waiting(free + 1)) do
    if user ~= leaving and free > 0 then
      free = free - 1
      admitOne(state, now, change, read, user, parse(read.member('wait ' .. user)))
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
    admitOne(state, now, change, read, user, state.queued, claim)
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
    free(state, change, now, claim, status, quantity, user, since, 'released', read)
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
-- Claims: held, confirmed, settled by the database, released, expired.
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
  local member = 'user ' .. user
  local owned = unitsOf(member, read)
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
  local change = {
    events = { one },
    members = { ['claim ' .. claim] = status .. ' ' .. args[3] .. ' ' .. user .. ' ' .. state.seq, [member] = text(owned + quantity) },
    holds = ends and { [claim] = ends } or nil, keepEvents = state.rememberMs and 1000 or nil
  }
  local details = {
    claim = claim, status = status, ['until'] = ends, available = state.available, held = state.held, sold = state.sold, seq = state.seq
  }
  return 'accepted', details, change
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
    return 'accepted', outcome(state), { members = members, holds = holds, quiet = true }
  end
  if not status or status == 'waiting' or (args[2] ~= '' and owner ~= args[2]) then return 'unknown_claim', outcome(state) end
  if not hasUnits(status) then return 'released', outcome(state) end
  local change = kept(state, nothing())
  change.reopens = state.sold == state.stock
  noteTurn(state, now, read.holdUntil(args[3]))
  free(state, change, now, args[3], status, quantity, owner, since, status == 'sold' and 'revoked' or 'released', read)
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end

local function expireAll (state, now, read, change, claims)
  for _, claim in ipairs(claims) do
    local status, quantity, user, since = parse(read.member('claim ' .. claim))
    if status == 'held' then
      noteTurn(state, now, read.holdUntil(claim))
      free(state, change, now, claim, status, quantity, user, since, 'expired', read)
    else
      change.members['claim ' .. claim], change.holds[claim] = false, false
      if status == 'sold' then count(change, user, -n(quantity), read) end
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
-- The sale itself: created, restocked, paused, closed.

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
  local opened = { type = 'open' }
  if args[10] then opened.stock, opened.about = state.stock, state.about end
  return 'created', outcome(state), { events = isAgain and { opened } or nil, signals = not isAgain and { opened } or nil, tasks = tasks }
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
-- A recorded sale in another lineage: nothing is sold until its state was compared with the database.
local restoring = { create = true, restore = true, adopt = true, close = true, due = true, pause = true }
local function isRestoring (state, read) return state.lineage and state.lineage ~= read.lineage() end

local function restoreOne (state, change, now, claim, user, quantity, status, read)
  local known, ownQuantity, owner, since = parse(read.member('claim ' .. claim))
  local has = known and hasUnits(known)
  if status ~= 'sold' then
    if has then free(state, change, now, claim, known, ownQuantity, owner, since, 'revoked', read) end
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
  if not has then count(change, user, n(quantity), read) end
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
  change.signals = { { type = 'restored' } }
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end

return function (state, args, now, read)
  if args[1] ~= 'create' and not state.status then return 'unknown', {} end
  if isRestoring(state, read) and not restoring[args[1]] then return 'restoring', outcome(state) end
  local code, details, change = ops[args[1]](state, args, now, read)
  -- what does not change need not be looked at
  if change and change.quiet then
    for _, part in ipairs(kinds) do
      if change[part] and not next(change[part]) then change[part] = nil end
    end
  end
  return code, details, change
end
`,
  'rules/latest': `-- Rule latest: the newest price of an asset. A price is accepted when its refresh began after that of the stored one; refreshes are tasks.
-- VERSION 3
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
  return { events = { event }, tasks = plan(state, math.min(n(state.due), now + interval(state))), keepEvents = 1000 }
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
  return 'created', { tier = base, pinned = state.pinned }, { signals = { { type = 'wanted' } }, tasks = plan(state, now) }
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
  return 'accepted', {}, { events = { event }, tasks = plan(state, now + interval(state)), keepEvents = 1000 }
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
  return 'accepted', {}, { events = { event }, tasks = tasks, keepEvents = 1000 }
end

local function wanted (state, now)
  state.wantedUntil = text(now + wantMs)
  return 'accepted', { seq = state.seq }, { signals = { { type = 'wanted' } }, tasks = plan(state, now) }
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
  return 'accepted', {}, { quiet = true }
end

return function (state, args, now, read)
  if args[1] ~= 'set' and not state.status then return 'unknown', {} end
  read.turnBack(state, durations)
  return ops[args[1]](state, args, now)
end
`,
  'rules/max': `-- Rule max: an auction. A bid is accepted when it is at least the price and the increment, between opening and closing.
-- VERSION 3
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
  return { type = type, user = user, amount = amount, previous = before }
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
  return 'created', outcome(state), { signals = { { type = 'open' } }, tasks = { due = state.closeAt } }
end

function ops.bid (state, args, now)
  local user, amount, max = args[2], args[3], args[4]
  if now < n(state.openAt) then return 'not_open', { openAt = state.openAt } end
  if isClosed(state, now) then return 'closed', outcome(state) end
  if user == state.leader then
    if max == '' or n(max) <= n(state.max) then return 'self_outbid', outcome(state) end
    state.max = max
    return 'max_raised', outcome(state), { quiet = true }
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
-- VERSION 3
-- STATE status (open), about, seq, version
-- ARGS create about
-- CODES created, exists
local ops = {}

function ops.create (state, args)
  if state.status then return 'exists', {} end
  state.status, state.about, state.seq = 'open', args[2], '1'
  -- a stream of one event takes 4 KiB, and its state says as much
  return 'created', {}, { events = { { type = 'created', about = args[2] } }, keepEvents = 0 }
end

return function (state, args) return ops[args[1]](state, args) end
`,
  'rules/step': `-- Rule step: an order, driven by the owner of its partition. A step is accepted from certain statuses only.
-- VERSION 4
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
  made.type, made.status, made.reason = type, state.status, state.reason
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
  local facts = { customer = args[2], total = args[3], lines = args[4], address = args[5], deadline = state.deadline, correlation = args[7] }
  local placed = event(state, 'placed', facts)
  return 'created', outcome(state), { events = { placed }, tasks = { run = text(now), deadline = state.deadline } }
end

-- the owner looks at once; a confirmed order has its payment, and one that is being driven is looked at anyway
function ops.check (state, args, now)
  if state.parked == '' and state.status ~= 'cancelled' then return 'illegal', outcome(state) end
  return accepted(state, { signals = { { type = 'wanted' } }, tasks = { run = text(now) } })
end

function ops.checked (state)
  if not final[state.status] then return 'illegal', outcome(state) end
  return accepted(state, { quiet = true, tasks = { run = false } })
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
