-- What can be known of the writes of a command before the first one: types of keys, and permissions. Its decision fails here, with nothing stored.
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
