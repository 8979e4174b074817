-- Compiles the text of a rule, which must be whole by itself; or runs its chunk, which must return a function.
-- Atomic, because it touches nothing.
-- KEYS none
-- ARGV [1] text; without it the chunk is run
-- RETURNS what is wrong with it, empty if nothing is
-- COST O(n)
-- MODE read
-- the chunk is put here
local chunk = nil
local text = ARGV[1]
-- @include guards
if text then
  local compiled, why = loadstring(text, '=user_script')
  return compiled and '' or string.sub(why, 1, 4096)
end
local ok, rule = pcall(chunk, guards())
if not ok then return string.sub(tostring(rule), 1, 4096) end
return type(rule) == 'function' and '' or 'it returns a ' .. type(rule) .. '; expected a function (state, args, now)'
