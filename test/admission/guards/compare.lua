-- Calls functions of Lua with the same arguments as they are and as rules of users get them, and says what differs.
-- Atomic, because it touches nothing.
-- KEYS none
-- ARGV [1..n] of each call: JSON { name, text, pattern, more: list, replace: nil, a text, a table, or function }
-- RETURNS of each: same, refused, or what differs
-- COST O(n)
-- MODE read
-- @include guards
local strings, tables, _, _, fieldsOf, methodsOf = guards()

local function shown (results)
  for i = 1, results.n do results[i] = type(results[i]) .. ' ' .. tostring(results[i]) end
  return table.concat(results, '|', 1, results.n)
end

local function collect (...)
  return { n = select('#', ...), ... }
end

-- an error has the position of the caller, and its function another name
local function resultsOf (call, f, ...)
  local results = collect(pcall(f, ...))
  if results[1] and call.name == 'gmatch' then
    local found = { n = 0 }
    for i = 1, 100 do
      local one = collect(pcall(results[2]))
      if one[2] == nil then break end
      if not one[1] then return shown(found) end
      found.n, found[i] = i, shown(one)
    end
    return shown(found)
  end
  if results[1] then return shown(results) end
  return (string.gsub(string.gsub(tostring(results[2]), '^.*user_%w+:%d+: ', ''), "to '[^']*'", ''))
end

local function argumentsOf (call)
  local more, replace = call.more, call.replace
  if replace == 'function' then
    replace = function (...) return select('#', ...) % 2 == 0 and table.concat({ ... }, '-') or nil end
  end
  if call.name == 'gsub' then return { call.text, call.pattern, replace, more[1] }, 3 + #more end
  return { call.text, call.pattern, unpack(more) }, 2 + #more
end

local answers = {}
for i = 1, #ARGV do
  local call = cjson.decode(ARGV[i])
  local given, n = argumentsOf(call)
  local function method (...) return methodsOf((...))[call.name](methodsOf((...)), select(2, ...)) end
  local plain = resultsOf(call, string[call.name], unpack(given, 1, n))
  local ways = { resultsOf(call, strings[call.name], unpack(given, 1, n)), resultsOf(call, fieldsOf(call.text)[call.name], unpack(given, 1, n)),
    resultsOf(call, method, unpack(given, 1, n)) }
  answers[i] = 'same'
  for way, found in ipairs(ways) do
    if string.find(found, ' refuses ', 1, true) then answers[i] = 'refused' elseif found ~= plain then answers[i] = way .. ': ' .. found .. ' / ' .. plain end
  end
end
return answers
