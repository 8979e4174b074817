-- What a rule returned and the state it left, checked once, and as texts. An error has no position of its own: it is about what was returned.
-- A value joined with an empty text is the same text, and costs no call; a number becomes another one, and all other types fail there: `blame` then says what is wrong.
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
  return isText and string.gsub(sub(raised, 1, 4096), '\n', ' ') or 'it raised a ' .. type(raised) .. '; expected a text'
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
-- The fields that differ from those of `list`, names and values in turn, behind those of the engine; false for one that is gone. `fields` is emptied.
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
