-- What rules of users get in place of functions of Lua that could keep the server in one call, which FUNCTION KILL does not stop.
local guards
do
-- @include pattern-limit
local MOST_BYTES, limits, limitsOfGmatch = 1048576, {}, {}
local gsub, gmatch, rep, concat, sort, textOfNumber, metatableOf = string.gsub, string.gmatch, string.rep, table.concat, table.sort, tostring, getmetatable

-- what a function of Lua returned, or its error, at the line of the rule; an error with a line is that of a function of the rule
local function resultOf (name, ok, ...)
  if ok then return ... end
  local why = ...
  if type(why) == 'string' and find(why, '^@?user_%w+:%d+:') then error(why, 0) end
  error(type(why) == 'string' and gsub(why, "^bad argument #(%d+) to '%?'", "bad argument #%1 to '" .. name .. "'") or why, 3)
end

local function expectBounded (name, s, p, isPlain)
  if type(s) == 'number' then s = textOfNumber(s) end
  if type(p) == 'number' then p = textOfNumber(p) end
  if type(s) ~= 'string' or type(p) ~= 'string' or #s <= 24 and #p <= 16 then return end
  local known = name == 'gmatch' and limitsOfGmatch or limits
  local limit = isPlain and floor(MOST_STEPS / ceil((#p + 1) / 100)) or known[p]
  if not limit then
    limit = patternLimit(p, name == 'gmatch')
    known[p] = limit
  end
  if #s <= limit then return end
  error(name .. " refuses a text of " .. #s .. " bytes: the pattern '" .. sub(p, 1, 100) .. "' could keep the server for too long from " ..
    string.format('%.0f', limit + 1) .. ' bytes on; shorten the text, or use fewer repeats and ^', 3)
end

local function failAbove (name, level)
  error(name .. ' refuses to make a text of more than ' .. MOST_BYTES .. ' bytes', level)
end

-- A replacement that counts what it adds. A table stays a table, because gsub reads only the first capture for it, and all for a function.
local function counted (replace, size)
  local function add (value)
    local kind = type(value)
    if kind == 'string' or kind == 'number' then size = size + #textOfNumber(value) end
    if size > MOST_BYTES then failAbove('gsub', 0) end
    return value
  end
  if type(replace) == 'function' then return function (...) return add(replace(...)) end end
  return setmetatable({}, { __index = function (_, key) return add(replace[key]) end })
end

-- a number is a text here, as in Lua; what is neither fails in gsub
local function expectShort (s, p, replace, most)
  local text = textOfNumber(replace)
  if type(s) == 'number' then s = textOfNumber(s) end
  if type(s) ~= 'string' then return end
  local _, marks = gsub(text, '%%', '')
  local fixed = #s * (1 + marks)
  if fixed + (#s + 1) * #text <= MOST_BYTES then return end
  local ok, _, matches = pcall(gsub, s, p, '', most)
  if ok and fixed + matches * #text > MOST_BYTES then failAbove('gsub', 4) end
end

-- `isBoxed`: called as a method of a text, which comes in a table
local function guarded (isBoxed)
  local lib = {}

  function lib.find (s, p, init, isPlain)
    if isBoxed then s = s[1] end
    expectBounded('find', s, p, isPlain)
    return resultOf('find', pcall(find, s, p, init, isPlain))
  end

  function lib.match (s, ...)
    if isBoxed then s = s[1] end
    expectBounded('match', s, (...))
    return resultOf('match', pcall(match, s, ...))
  end

  function lib.gmatch (s, ...)
    if isBoxed then s = s[1] end
    expectBounded('gmatch', s, (...))
    return resultOf('gmatch', pcall(gmatch, s, ...))
  end

  function lib.gsub (s, p, replace, ...)
    if isBoxed then s = s[1] end
    expectBounded('gsub', s, p)
    local kind = type(replace)
    local isCounted = kind == 'table' or kind == 'function'
    if kind == 'string' or kind == 'number' then expectShort(s, p, replace, ...) end
    return resultOf('gsub', pcall(gsub, s, p, isCounted and counted(replace, #textOfNumber(s)) or replace, ...))
  end

  function lib.rep (s, ...)
    if isBoxed then s = s[1] end
    local count, size = tonumber((...)), #textOfNumber(s)
    if count and size == 0 then return '' end
    if count and size * count > MOST_BYTES then failAbove('rep', 3) end
    return resultOf('rep', pcall(rep, s, ...))
  end

  return lib
end

local function joined (list, separator, first, last)
  if type(list) == 'table' then
    local size, between = 0, #textOfNumber(separator or '')
    for i = tonumber(first) or 1, tonumber(last) or #list do
      local part = rawget(list, i)
      if type(part) ~= 'string' and type(part) ~= 'number' then break end
      size = size + #textOfNumber(part)
      if size > MOST_BYTES then failAbove('concat', 3) end
      size = size + between
    end
  end
  return resultOf('concat', pcall(concat, list, separator, first, last))
end

local function less (a, b) return a < b end

-- a comparison in Lua can be stopped
local function sorted (list, before)
  local isLong = before == nil and type(list) == 'table' and #list > 1000
  return resultOf('sort', pcall(sort, list, isLong and less or before))
end

local function trim (s)
  if type(s) ~= 'string' and type(s) ~= 'number' then error("bad argument #1 to 'trim' (string expected, got " .. type(s) .. ')', 2) end
  local first = match(s, '^%s*()')
  return sub(s, first, math.max(first - 1, #textOfNumber(s) + 1 - match(string.reverse(s), '^%s*()')))
end

local ofTexts, ofMethods = guarded(false), { __index = guarded(true) }

local function copyOf (functions, changed)
  local made = {}
  for name, value in pairs(functions) do made[name] = changed[name] or value end
  return made
end

local function resultsOf (...) return ... end

-- the arguments of the chunk of a rule (src/admission/rule-text.js)
function guards ()
  local strings = copyOf(string, ofTexts)
  local function visibleMetatable (value)
    if type(value) == 'string' then return nil end
    return metatableOf(value)
  end
  local function fieldsOf (value)
    if type(value) == 'string' then return strings end
    return value
  end
  local function methodsOf (value)
    if type(value) == 'string' then return setmetatable({ value }, ofMethods) end
    return value
  end
  return strings, copyOf(table, { concat = joined, sort = sorted }), visibleMetatable, trim, fieldsOf, methodsOf, resultsOf
end
end
