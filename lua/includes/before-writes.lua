-- What can be known of the writes of a command before the first one: types of keys, and permissions. Its decision fails here, with nothing stored.
local function expectAllowed (command, key, ...)
  if mayRun and not mayRun(command, key, ...) then error('NOPERM the user may not run ' .. command .. ' on ' .. key, 0) end
end

local function expectOnce (holder, command, ...)
  if not holder[command] then expectAllowed(command, ...) end
  holder[command] = true
end

local function expectTasks ()
  if not shared.ZREM then redis.call('ZCARD', tasks) end
  expectOnce(shared, 'ZADD', tasks, '1', 'a')
  expectOnce(shared, 'ZREM', tasks, 'a')
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
        expectOnce(part, 'HSET', key, 'a', 'b')
        expectOnce(part, 'HDEL', key, 'a')
      else
        expectOnce(part, 'ZADD', key, '1', 'a')
        expectOnce(part, 'ZREM', key, 'a')
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
  for i = target.first, target.last do expectAllowed('PEXPIRE', KEYS[i], '1') end
  target.PEXPIRE = true
end

local function expectWritable (target, fields, change, request)
  local state, events = target.state, target.events
  expectOnce(target, 'HSET', state, 'a', 'b')
  for field in pairs(target.fields) do
    if fields[field] == nil then expectOnce(target, 'HDEL', state, 'a') end
  end
  if #change.events > 0 then expectOnce(target, 'XADD', events, '*', 'a', 'b') end
  if keptEvents[target.rule] then expectOnce(target, 'XTRIM', events, 'MAXLEN', '1') end
  expectOnce(shared, 'XADD', outbox, '*', 'a', 'b')
  if string.sub(request, -1) ~= ':' then expectOnce(shared, 'SET', request, 'a', 'PX', '1') end
  if change.reopens then expectOnce(shared, 'HINCRBY', generation, 'n', '1') end
  if next(change.tasks) or change.holds then expectTasks() end
  expectParts(target, change)
  expectEnd(target, change)
end
