-- Decides up to 256 commands of one partition, in order, and stores what the accepted ones do.
-- Atomic, because the decision, the new state, the events and the outbox must not come apart, nor another command come in between.
-- KEYS [1] outbox: stream, [2] tasks: sorted set, [3] generation: hash, [4..5n+3] of each command: state: hash, events: stream, members: hash, holds: sorted set, request: string
-- ARGV [1] replication id of the primary that the caller sees, [2] expiry of requests: ms, [3..n+2] of each command: JSON array of strings: rule, key, digest of its body, arguments of the rule
-- RETURNS generation, now in ms, then of each command: code, sequence, version, replay (1 or 0), detail and its value ...; a generation alone when it belongs to another replication id
-- COST O(n log N)
-- MODE writes
local outbox, tasks, generation, replicationId, expiry = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
local rules = {}
-- @include rules/max
-- @include rules/bounded

local function generationNow ()
  local known = redis.call('HMGET', generation, 'replid', 'lineage', 'n', 'now')
  return known[2] and known[2] .. '.' .. known[3] or '', known[1], tonumber(known[4] or '0')
end
local current, owner, last = generationNow()
if owner ~= replicationId then return { current } end
local time = redis.call('TIME')
local now = math.max(last, time[1] * 1000 + math.floor(time[2] / 1000))
local nowText = string.format('%.0f', now)
-- a server that accepts no writes refuses the whole call here
redis.call('HSET', generation, 'now', nowText)

local function read (state)
  local fields, flat = {}, redis.call('HGETALL', state)
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

local function readerOf (at)
  local members, holds, reader = KEYS[at + 2], KEYS[at + 3], {}
  function reader.member (field) return redis.call('HGET', members, field) end
  function reader.firstHold () return redis.call('ZRANGE', holds, 0, 0, 'WITHSCORES')[2] end
  function reader.holdUntil (claim) return redis.call('ZSCORE', holds, claim) end
  function reader.holdDue (before) return redis.call('ZRANGEBYSCORE', holds, '-inf', before, 'LIMIT', 0, 1)[1] end
  return reader
end

local function schedule (task, due)
  if due then redis.call('ZADD', tasks, due, task) else redis.call('ZREM', tasks, task) end
end

local function store (command, fields, change, at, digest)
  local state, events, members, holds, flat = KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3], {}
  local task = command[1] .. ' ' .. command[2] .. ' '
  for field, value in pairs(fields) do
    flat[#flat + 1] = field
    flat[#flat + 1] = value
  end
  redis.call('HSET', state, unpack(flat))
  for _, event in ipairs(change.events) do
    redis.call('XADD', events, event[2] .. '-0', 'ts', nowText, 'request', digest, unpack(event))
    redis.call('XADD', outbox, nowText .. '-*', 'rule', command[1], 'key', command[2], 'ts', nowText, 'request', digest, unpack(event))
  end
  for _, one in ipairs(change.tasks or {}) do schedule(task .. one[1], one[2]) end
  for _, one in ipairs(change.members or {}) do
    if one[2] then redis.call('HSET', members, one[1], one[2]) else redis.call('HDEL', members, one[1]) end
  end
  for _, one in ipairs(change.holds or {}) do
    if one[2] then redis.call('ZADD', holds, one[2], one[1]) else redis.call('ZREM', holds, one[1]) end
  end
  if change.holds then schedule(task .. 'expire', redis.call('ZRANGE', holds, 0, 0, 'WITHSCORES')[2]) end
  if change.reopens then redis.call('HINCRBY', generation, 'n', 1) end
end

local function decide (i)
  local command, at = cjson.decode(ARGV[i + 2]), 5 * i - 1
  local request = KEYS[at + 4]
  local stored = redis.call('GET', request)
  if stored then
    local decision = cjson.decode(stored)
    if table.remove(decision, 1) ~= command[3] then return { 'other_body', '0', '0', '0' } end
    decision[4] = '1'
    return decision
  end
  local fields = read(KEYS[at])
  local code, details, change = rules[command[1]](fields, { unpack(command, 4) }, now, readerOf(at))
  if change then fields.version = string.format('%.0f', (fields.version or 0) + 1) end
  local decision = { code, fields.seq or '0', fields.version or '0', '0', unpack(details) }
  if change then
    store(command, fields, change, at, string.match(request, '[^:]+$'))
    redis.call('SET', request, cjson.encode({ command[3], unpack(decision) }), 'PX', expiry)
  end
  return decision
end

local replies = { current, nowText }
for i = 1, #ARGV - 2 do
  local ok, decision = pcall(decide, i)
  replies[i + 2] = ok and decision or { 'failed', '0', '0', '0', 'reason', tostring(decision) }
end
replies[1] = (generationNow())
return replies
