-- What can be known of the writes of a command before the first one: types of keys, and permissions. Its decision fails here, with nothing stored.
local function expectTasks ()
  if not shared.ZREM then redis.call('ZCARD', tasks) end
  expectAllowed(shared, 'ZADD', tasks, '1', 'a')
  expectAllowed(shared, 'ZREM', tasks, 'a')
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
        expectAllowed(part, 'HSET', key, 'a', 'b')
        expectAllowed(part, 'HDEL', key, 'a')
      else
        expectAllowed(part, 'ZADD', key, '1', 'a')
        expectAllowed(part, 'ZREM', key, 'a')
      end
    end
  end
  if change.holds then firstHold(target.kept) end
end

-- A key that has ended has an expiry; a part that is written later needs one, too.
local function expectEnd (target, change)
  local state = target.state
  if target.version > 0 and target.ends == nil then target.ends = redis.call('PTTL', state) > 0 end
  if not (target.ends or change.ends) or target.PEXPIRE then return end
  for i = target.first, target.last do expectAllowed({}, 'PEXPIRE', KEYS[i], '1') end
  target.PEXPIRE = true
end

local function expectWritable (target, fields, change, request)
  local state, events = target.state, target.events
  expectAllowed(target, 'HSET', state, 'a', 'b')
  for field in pairs(target.fields) do
    if fields[field] == nil then expectAllowed(target, 'HDEL', state, 'a') end
  end
  if #change.events > 0 then expectAllowed(target, 'XADD', events, '*', 'a', 'b') end
  if keptEvents[target.rule] then expectAllowed(target, 'XTRIM', events, 'MAXLEN', '1') end
  expectAllowed(shared, 'XADD', outbox, '*', 'a', 'b')
  if string.sub(request, -1) ~= ':' then expectAllowed(shared, 'SET', request, 'a', 'PX', '1') end
  if change.reopens then expectAllowed(shared, 'HINCRBY', generation, 'n', '1') end
  if next(change.tasks) or change.holds then expectTasks() end
  expectParts(target, change)
  expectEnd(target, change)
end
