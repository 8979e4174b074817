-- Counts the members of a sorted set between two places in its order (score, then bytes), and reads the newest of them.
-- Atomic, because counted and read apart, what came in between would be taken for what was there before.
-- KEYS [1] members: sorted set
-- ARGV [1] score of the newer place: number or +inf, [2] that place among members of that score: bytes, itself not between, [3] score of the older place: number, [4] that place: bytes, itself between, [5] members wanted: integer from 1 to 1,001
-- RETURNS array of 2: how many members are between; array of member, score, member, score, ..., newest first
-- COST O(log N * log T + wanted), T members of those scores
-- MODE read
local members, newer, newerPlace, older, olderPlace, wanted = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
-- bytes, not '<': Lua compares strings by the locale
local function less (a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
-- how many members are older
local function rank (score, place)
  local low = redis.call('ZCOUNT', members, '-inf', '(' .. score)
  local high = low + redis.call('ZCOUNT', members, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if less(redis.call('ZRANGE', members, middle, middle)[1], place) then low = middle + 1 else high = middle end
  end
  return low
end
local top = rank(newer, newerPlace)
local between = top - rank(older, olderPlace)
if between <= 0 then return { 0, {} } end
local first = redis.call('ZCARD', members) - top
return { between, redis.call('ZREVRANGE', members, first, first + math.min(wanted, between) - 1, 'WITHSCORES') }
