-- What can be known of the writes of a command before the first one: types of keys, and permissions. Its decision fails here, with nothing stored.
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
