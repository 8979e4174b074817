-- What a rule returned and the state it left, checked and as texts. An error has no position of its own: it is about what was returned.
local reserved = { id = true, key = true, request = true, rule = true, seq = true, ts = true, type = true, version = true }
local kinds = { events = 'table', tasks = 'table', ends = 'boolean', reopens = 'boolean' }
local function fail (what, value, expected)
  local shown = type(value) == 'number' and string.format('%.17g', value) or type(value) == 'string' and "'" .. value .. "'" or 'a ' .. type(value)
  error(what .. ' is ' .. shown .. '; expected ' .. expected, 0)
end

local function isWhole (value)
  return type(value) == 'number' and value == math.floor(value) and math.abs(value) <= 2 ^ 53
end

local function textOf (what, value)
  if type(value) == 'string' then return value end
  if not isWhole(value) then fail(what, value, 'a text, or a whole number up to 2^53') end
  return string.format('%.0f', value + 0)
end

local function texts (what, given)
  if type(given) ~= 'table' then fail(what, given, 'a table of names and values') end
  local made = {}
  for name, value in pairs(given) do
    if type(name) ~= 'string' or name == '' then fail('a name in ' .. what, name, 'a text') end
    made[name] = textOf(what .. '.' .. name, value)
  end
  return made
end

local function eventOf (what, given)
  if type(given) ~= 'table' or type(given.type) ~= 'string' then fail(what, given, "a table with a field 'type'") end
  if string.sub(given.type, 1, 1) == '@' then fail(what .. '.type', given.type, 'a text that does not begin with @') end
  local fields, names, flat = texts(what, given), {}, { 'type', given.type }
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

local function numbersOf (what, given, expected)
  local made = {}
  for name, value in pairs(given or {}) do
    local number = value and tonumber(value)
    if value and not (isWhole(number) and number >= 0) then fail(what .. ' ' .. tostring(name), value, expected .. ', or false to remove it') end
    made[name] = number and string.format('%.0f', number)
  end
  return made
end

local function tasksOf (given)
  for name in pairs(given or {}) do
    if type(name) ~= 'string' or #name > 64 or not string.match(name, '^[^%c%s]+$') then
      fail('the name of a task', name, '1-64 characters without control characters and blanks')
    end
  end
  return numbersOf('task', given, 'ms since 1970')
end

local function membersOf (given)
  local removed, kept = {}, {}
  for name, value in pairs(given) do
    if value then kept[name] = value else removed[name] = false end
  end
  for name, value in pairs(texts('members', kept)) do removed[name] = value end
  return removed
end

local function changeOf (keeps, given)
  if not given then return nil end
  if type(given) ~= 'table' then fail('the third value', given, 'a table, or nothing') end
  for name, value in pairs(given) do
    local kind = keeps[name] and 'table' or kinds[name]
    if not kind then fail('a name in the third value', name, 'events, tasks, ends or reopens, or what keeps of the rule declares') end
    if type(value) ~= kind then fail(name, value, 'a ' .. kind) end
  end
  local events, count = {}, 0
  for i, event in ipairs(given.events or {}) do events[i] = eventOf('events[' .. i .. ']', event) end
  for _ in pairs(given.events or {}) do count = count + 1 end
  if count > #events then fail('events', given.events, 'a list of tables') end
  return { events = events, tasks = tasksOf(given.tasks), ends = given.ends, reopens = given.reopens, members = given.members and membersOf(given.members),
    holds = given.holds and numbersOf('hold', given.holds, 'ms since 1970'), waiting = given.waiting and numbersOf('place', given.waiting, 'a number') }
end

local function checked (keeps, state, code, details, change)
  if type(code) ~= 'string' or #code > 64 or not string.match(code, '^[^%c]+$') then
    fail('the code', code, '1-64 characters without control characters')
  end
  local made, fields = changeOf(keeps, change), change and texts('state', state)
  for name in pairs(fields or {}) do
    if string.sub(name, 1, 1) == '@' then fail('a field of the state', name, 'a name that does not begin with @') end
  end
  return code, fields, cjson.encode(texts('the details', details or {})), made
end
