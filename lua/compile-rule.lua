-- Compiles the text of a rule, which must be whole by itself; or runs the chunk of a rule, which must return a function.
-- Atomic, because it touches nothing.
-- KEYS none
-- ARGV [1] text, [2] without a text: the name of the rule
-- RETURNS what is wrong with it, empty if nothing is
-- COST O(n)
-- MODE read
-- the chunks are put here
local rules = {}
local text, name = ARGV[1], ARGV[2]
-- @include guards
if text ~= '' then
  local compiled, why = loadstring(text, '=user_script')
  return compiled and '' or string.sub(why, 1, 4096)
end
local ok, rule = pcall(rules[name], guards())
if not ok then return string.sub(tostring(rule), 1, 4096) end
return type(rule) == 'function' and '' or 'it returns a ' .. type(rule) .. '; expected a function (state, args, now)'
