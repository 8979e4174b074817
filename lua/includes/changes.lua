-- What the accepted commands of a call change, in memory: commands of the same key that follow see it, and it is written once all are decided.
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
