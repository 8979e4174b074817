-- The longest text on which a pattern is run. Lua tries each way to divide a text among the repeats of a pattern, in one call that nothing can
-- stop: of n bytes among k repeats about n^k / k!, and one more where each start is tried. A repeat whose class excludes what follows leaves one way.
local MOST_STEPS, MOST_PATTERN, LITERAL = 1e8, 4096, '^[^%^%$%*%+%?%.%(%)%[%%%-]$'
local find, match, byte, sub, ceil, floor = string.find, string.match, string.byte, string.sub, math.ceil, math.floor

-- where the class at i ends: one character, %x, or a set
local function classEnd (p, i)
  local c = byte(p, i)
  if c == 37 then return i + 2 end
  if c ~= 91 then return i + 1 end
  i = i + 1
  if byte(p, i) == 94 then i = i + 1 end
  repeat
    i = i + (byte(p, i) == 37 and 2 or 1)
  until i > #p or byte(p, i) == 93
  return i + 1
end

local function excludes (class, char)
  if #class == 1 and class ~= '.' then return class ~= char end
  -- a pattern ends at a zero byte
  return not find(class, '%z') and not find(char, class)
end

-- none of the ways to go on, one, or many, behind a repeat of a class that ends before i
local function waysBehind (p, class, i)
  i = match(p, '^[()]*()', i)
  if i > #p then return 'none' end
  if i == #p and byte(p, i) == 36 then return 'one' end
  local char, after = sub(p, i, i), i + 1
  if char == '%' and match(p, '^%p', after) then
    char, after = sub(p, after, after), after + 1
  elseif not match(char, LITERAL) then
    return 'many'
  end
  return not match(p, '^[*?-]', after) and excludes(class, char) and 'one' or 'many'
end

local function stepsOf (n, repeats, factor)
  local steps = factor
  for i = 1, repeats do
    steps = steps * (repeats > 5 and n + i or n) / i
    if steps > MOST_STEPS then break end
  end
  return steps
end

local function mostOf (repeats, factor)
  if factor > MOST_STEPS then return -1 end
  if repeats == 0 then return math.huge end
  local low, high = 0, MOST_STEPS + 1
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    if stepsOf(middle, repeats, factor) > MOST_STEPS then high = middle else low = middle end
  end
  return low
end

-- gmatch has no anchor at the start; a step is dearer with long runs of single characters, and with long sets
local function patternLimit (p, hasNoAnchor)
  local starts = (hasNoAnchor or byte(p, 1) ~= 94) and 1 or 0
  local i, many, isScanned, choices, run, cost = 2 - starts, 0, false, 0, starts == 0 and -#p or 0, 1
  if #p > MOST_PATTERN and find(p, '[%^%$%*%+%?%.%(%[%%%-]') then return -1 end
  while i <= #p do
    local special, after = match(p, '^%%([bf%d])', i), classEnd(p, i)
    if special == 'f' then
      after = classEnd(p, i + 2)
    elseif special then
      isScanned, after = true, i + (special == 'b' and 4 or 2)
    elseif not match(p, '^[()]', i) then
      local kind = match(p, '^[*+?-]', after)
      run = run + after - i
      cost = math.max(cost, ceil(run / 4))
      if kind == '?' then
        choices = choices + 1
      elseif kind then
        local ways = waysBehind(p, sub(p, i, after - 1), after + 1)
        if ways == 'many' then many = many + 1 end
        isScanned, run = isScanned or ways == 'one', 0
      end
      after = kind and after + 1 or after
    end
    i = after
  end
  local repeats = starts + many
  return mostOf(isScanned and repeats > 0 and repeats + 1 or repeats, cost * 2 ^ choices)
end
