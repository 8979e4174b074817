-- Writes a command of a rule of ours. What can be known is checked before the first write; if one fails all the same, the others are undone.
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
  mended[#mended + 1] = table.concat({ target.rule, target.key, string.format('%.0f', seq), target.fields.seq }, '\n')
  return true
end
