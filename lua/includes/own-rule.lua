-- What a rule returned and the state it left, checked and as texts. An error has no position of its own: it is about what was returned.
local reserved = { id = true, key = true, request = true, rule = true, seq = true, ts = true, type = true, version = true }
local kinds = { events = 'table', tasks = 'table', ends = 'boolean', reopens = 'boolean' }
-- bytes of a text, and of an event or the details in all; names in a part, and events
local mostBytes, mostNames, mostShown = 2 ^ 20, 10000, 200
local function fail (what, value, expected)
  local shown = type(value) == 'number' and string.format('%.17g', value) or type(value) == 'string' and "'" .. string.sub(value, 1, mostShown) .. "'" or
    'a ' .. type(value)
  error(string.sub(what, 1, mostShown) .. ' is ' .. shown .. '; expected ' .. expected, 0)
end

-- an error of any type, as a line; those of all commands of a call must fit into one reply
local function whyOf (raised)
  local isText = type(raised) == 'string' or type(raised) == 'number'
  return isText and string.gsub(string.sub(raised, 1, 4096), '\n', ' ') or 'it raised a ' .. type(raised) .. '; expected a text'
end

local function isWhole (value)
  return type(value) == 'number' and value == math.floor(value) and math.abs(value) <= 2 ^ 53
end

local function textOf (what, value)
  if type(value) == 'string' then
    if #value > mostBytes then fail('the length of ' .. what, #value, 'at most 1 MiB') end
    return value
  end
  if not isWhole(value) then fail(what, value, 'a text, or a whole number up to 2^53') end
  return string.format('%.0f', value + 0)
end

local function expectName (what, name)
  if type(name) ~= 'string' or name == '' then fail('a name in ' .. what, name, 'a text') end
  if #name > mostBytes then fail('the length of a name in ' .. what, #name, 'at most 1 MiB') end
end

local function texts (what, given, isBounded)
  if type(given) ~= 'table' then fail(what, given, 'a table of names and values') end
  local made, bytes = {}, 0
  for name, value in pairs(given) do
    expectName(what, name)
    made[name] = textOf(what .. '.' .. name, value)
    bytes = bytes + #name + #made[name]
  end
  if isBounded and bytes > mostBytes then fail('the length of ' .. what, bytes, 'at most 1 MiB in all') end
  return made
end

local function eventOf (what, given)
  local kind = type(given) == 'table' and rawget(given, 'type')
  if type(kind) ~= 'string' then fail(what, given, "a table with a field 'type'") end
  if string.sub(kind, 1, 1) == '@' then fail(what .. '.type', kind, 'a text that does not begin with @') end
  local fields, names, flat = texts(what, given, true), {}, { 'type', kind }
  for name in pairs(fields) do
    if name ~= 'type' then
      if reserved[name] then fail('a field of ' .. what, name, 'another name, because the engine writes this one') end
      names[#names + 1] = name
    end
  end
  if #names > 1000 then fail('the number of fields of ' .. what, #names, 'at most 1000') end
  table.sort(names)
  for _, name in ipairs(names) do
    flat[#flat + 1] = name
    flat[#flat + 1] = fields[name]
  end
  return flat
end

local function expectCount (what, given)
  local count = 0
  for _ in pairs(given) do count = count + 1 end
  if count > mostNames then fail('the number of ' .. what, count, 'at most ' .. mostNames) end
  return count
end

local function eventsOf (given)
  local events, count = {}, expectCount('events', given)
  for i, event in ipairs(given) do events[i] = eventOf('events[' .. i .. ']', event) end
  if count > #events then fail('events', given, 'a list of tables') end
  return events
end

local function numbersOf (part, what, given, expected)
  local made = {}
  expectCount(part, given)
  for name, value in pairs(given) do
    expectName(part, name)
    local number = value and tonumber(value)
    if value and not (isWhole(number) and number >= 0) then fail(what .. ' ' .. name, value, expected .. ', or false to remove it') end
    made[name] = number and string.format('%.0f', number + 0)
  end
  return made
end

local function tasksOf (given)
  for name in pairs(given) do
    if type(name) ~= 'string' or #name > 64 or not string.match(name, '^[^%c%s]+$') then
      fail('the name of a task', name, '1-64 characters without control characters and blanks')
    end
  end
  return numbersOf('tasks', 'task', given, 'ms since 1970')
end

local function membersOf (given)
  local removed, kept = {}, {}
  expectCount('members', given)
  for name, value in pairs(given) do
    expectName('members', name)
    if value then kept[name] = value else removed[name] = false end
  end
  for name, value in pairs(texts('members', kept)) do removed[name] = value end
  return removed
end

local function changeOf (keeps, given)
  if not given then return nil end
  if type(given) ~= 'table' then fail('the third value', given, 'a table, or nothing') end
  -- as it is: a metatable of the rule adds nothing
  local parts = {}
  for name, value in pairs(given) do
    local kind = keeps[name] and 'table' or kinds[name]
    if not kind then fail('a name in the third value', name, 'events, tasks, ends or reopens, or what keeps of the rule declares') end
    if type(value) ~= kind then fail(name, value, 'a ' .. kind) end
    parts[name] = value
  end
  local made = { events = eventsOf(parts.events or {}), tasks = tasksOf(parts.tasks or {}), ends = parts.ends, reopens = parts.reopens }
  if parts.members then made.members = membersOf(parts.members) end
  if parts.holds then made.holds = numbersOf('holds', 'hold', parts.holds, 'ms since 1970') end
  if parts.waiting then made.waiting = numbersOf('waiting', 'place', parts.waiting, 'a number') end
  return made
end

-- as JSON; numbers stay numbers, with all their digits
local function detailsOf (given)
  local made, numbers = texts('the details', given, true), {}
  for name, text in pairs(made) do
    if type(rawget(given, name)) == 'number' then
      numbers[#numbers + 1] = (string.find(name, '^[%w_]+$') and '"' .. name .. '"' or cjson.encode(name)) .. ':' .. text
      made[name] = nil
    end
  end
  if not numbers[1] then return cjson.encode(made) end
  if next(made) then table.insert(numbers, 1, string.sub(cjson.encode(made), 2, -2)) end
  return '{' .. table.concat(numbers, ',') .. '}'
end

local function checked (keeps, state, code, details, change)
  if type(code) ~= 'string' or #code > 64 or not string.match(code, '^[^%c]+$') then
    fail('the code', code, '1-64 characters without control characters')
  end
  local made, fields = changeOf(keeps, change), change and texts('state', state)
  for name in pairs(fields or {}) do
    if string.sub(name, 1, 1) == '@' then fail('a field of the state', name, 'a name that does not begin with @') end
  end
  return code, fields, detailsOf(details or {}), made
end
