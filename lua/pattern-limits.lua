-- The longest text, in bytes, on which each pattern is run, as rules of users find it.
-- Atomic, because it touches nothing.
-- KEYS none
-- ARGV [1..n] patterns
-- RETURNS of each its length as a text; -1 when it is never run
-- COST O(n)
-- MODE read
-- @include pattern-limit
local limits = {}
for i = 1, #ARGV do limits[i] = string.format('%.0f', math.min(patternLimit(ARGV[i]), 2 ^ 53)) end
return limits
