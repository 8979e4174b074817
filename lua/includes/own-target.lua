-- A key with the commands of a call: its state as they change it, and what its rule keeps.

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
