-- Counts the members of a sorted set between two places in its order (score, then bytes), and reads the newest of them.
-- Atomic, because members that arrive between the count and the read would be taken for older ones.
-- KEYS [1] members: sorted set
-- ARGV [1] score of the newer place: number or +inf, [2] that place among members of that score: bytes, exclusive, [3] score of the older place: number, [4] that place: bytes, inclusive, [5] members wanted: integer from 1 to 1,001
-- RETURNS array of 2: members in between: integer; array of member, score, member, score, ..., newest first
-- COST O(log N * log T + wanted), T members of those scores
-- MODE read
local members, newer, newerPlace, older, olderPlace, wanted = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
-- @include less
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
