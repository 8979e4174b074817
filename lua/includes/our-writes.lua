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

-- keys of a part have the same permissions
local may = { outbox = {}, tasks = {}, request = {}, generation = {}, state = {}, events = {}, members = {}, holds = {}, waiting = {} }
local function expectTasks ()
  if not may.tasks.ZREM then redis.call('ZCARD', tasks) end
  expectAllowed(may.tasks, 'ZADD', tasks, '1', 'a')
  expectAllowed(may.tasks, 'ZREM', tasks, 'a')
end

-- rules read members before they change them, so their type is known
local function expectParts (target, change)
  local members, holds, waiting = target.members, target.holds, target.waiting
  if next(change.members or none) or next(change.units or none) then
    expectAllowed(may.members, 'HSET', members, 'a', 'b')
    expectAllowed(may.members, 'HDEL', members, 'a')
    expectAllowed(may.members, 'HINCRBY', members, 'a', '1')
  end
  if next(change.holds or none) and not target.hasHolds then
    redis.call('ZCARD', holds)
    target.hasHolds = true
    expectAllowed(may.holds, 'ZADD', holds, '1', 'a')
    expectAllowed(may.holds, 'ZREM', holds, 'a')
  end
  if next(change.waiting or none) and not target.hasWaiting then
    redis.call('ZCARD', waiting)
    target.hasWaiting = true
    expectAllowed(may.waiting, 'ZADD', waiting, '1', 'a')
    expectAllowed(may.waiting, 'ZREM', waiting, 'a')
  end
end

local function expectWritable (target, change, request)
  local state, events = target.state, target.events
  if #change.events > 0 then
    expectAllowed(may.outbox, 'XADD', outbox, '*', 'a', 'b')
    if change.keeps ~= 0 then expectAllowed(may.events, 'XADD', events, '*', 'a', 'b') end
    if (change.keeps or 0) > 0 then expectAllowed(may.events, 'XTRIM', events, 'MAXLEN', '1') end
  end
  expectAllowed(may.state, 'HSET', state, 'a', 'b')
  if string.sub(request, -1) ~= ':' then expectAllowed(may.request, 'SET', request, 'a', 'PX', '1') end
  if change.reopens then expectAllowed(may.generation, 'HINCRBY', generation, 'n', '1') end
  if change.ends or target.ends then expectAllowed(may.state, 'PEXPIRE', state, '1') end
  if change.holds or next(change.tasks or none) then expectTasks() end
  if target.members then expectParts(target, change) end
end

-- how far the writes of a command are: events in their stream and in the outbox, units counted, state
local added, sent, ids, counted, hasState = 0, 0, {}, {}, false
local function store (target, changed, change, id, request, stored)
  local state, events, members, holds, waiting = target.state, target.events, target.members, target.holds, target.waiting
  local task = target.rule .. ' ' .. target.key .. ' '
  added, sent, counted, hasState = 0, 0, change.units and {}, false
  for i, event in ipairs(change.events) do
    local fields = flat({}, event)
    -- an event without a sequence number is for the outbox only
    if event.seq ~= '0' and change.keeps ~= 0 then redis.call('XADD', events, event.seq .. '-0', 'ts', nowText, 'request', id, unpack(fields)) end
    added = i
    if (change.keeps or 0) > 0 then redis.call('XTRIM', events, 'MAXLEN', '~', change.keeps) end
    ids[i] = toOutbox('rule', target.rule, 'key', target.key, 'ts', nowText, 'request', id, unpack(fields))
    sent = i
  end
  -- before the state, so that it is not decided twice
  if id ~= '' then redis.call('SET', request, stored, 'PX', expiry) end
  for user, more in pairs(change.units or none) do
    if redis.call('HINCRBY', members, 'user ' .. user, more) == 0 then redis.call('HDEL', members, 'user ' .. user) end
    counted[user] = more
  end
  hasState = true
  redis.call('HSET', state, unpack(flat({}, changed)))
  for name, due in pairs(change.tasks or none) do schedule(task .. name, due) end
  for name, value in pairs(change.members or none) do
    if value then redis.call('HSET', members, name, value) else redis.call('HDEL', members, name) end
  end
  for name, due in pairs(change.holds or none) do
    if due then redis.call('ZADD', holds, due, name) else redis.call('ZREM', holds, name) end
  end
  for user, place in pairs(change.waiting or none) do
    if place then redis.call('ZADD', waiting, place, user) else redis.call('ZREM', waiting, user) end
  end
  if change.holds then schedule(task .. 'expire', redis.call('ZRANGE', holds, 0, 0, 'WITHSCORES')[2]) end
  target.ends = target.ends or change.ends
  if target.ends then
    for i = target.first, target.last do redis.call('PEXPIRE', KEYS[i], keep) end
  end
  if change.reopens then redis.call('HINCRBY', generation, 'n', 1) end
end

local function undo (target, changed, change, id, request)
  local state, events, members = target.state, target.events, target.members
  for field in pairs(hasState and changed or none) do
    local value = target.fields[field]
    if value then redis.call('HSET', state, field, value) else redis.call('HDEL', state, field) end
  end
  if id ~= '' then redis.call('PEXPIRE', request, 0) end
  for user, more in pairs(counted or none) do redis.call('HINCRBY', members, 'user ' .. user, -more) end
  for i = 1, sent do redis.call('XDEL', outbox, ids[i]) end
  for i = 1, added do
    local seq = change.events[i].seq
    if seq ~= '0' and change.keeps ~= 0 then redis.call('XDEL', events, seq .. '-0') end
  end
end

-- The first write of a command says whether the stream of its key is ahead of its state. It is if a call ended between its writes, or another program wrote to it. The key goes on behind it, and requests that stored one of these events are not decided again.
local mended = {}
local function goBehind (target)
  local state, events, seq = target.state, target.events, tonumber(target.fields.seq or '0')
  local last = tonumber(string.match(lastIdOf(events), '^%d+'))
  if last <= seq then return false end
  local found = { target.fields['@done'] }
  for _, entry in ipairs(redis.call('XRANGE', events, string.format('%.0f-0', seq + 1), '+')) do
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'request' then found[#found + 1] = entry[2][i + 1] end
    end
  end
  target.fields.seq, target.fields['@done'] = string.format('%.0f', last), table.concat(found, ' ')
  if target.fields.version then redis.call('HSET', state, 'seq', target.fields.seq, '@done', target.fields['@done']) end
  mended[#mended + 1] = table.concat({ target.rule, target.key, string.format('%.0f', seq), target.fields.seq }, '\n')
  return true
end
