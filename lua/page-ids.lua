-- Reads the members that stand after a place in the order (score, then id bytes, newest first), however many share that score.
-- Atomic, because ranks move with every write; a page by rank or offset alone would lose or repeat members.
-- KEYS [1] ids: sorted set
-- ARGV [1] score of the place: number, [2] id of the place: bytes, [3] members wanted: integer from 1 to 1,001
-- RETURNS array of member, score, member, score, ...; newest first, empty at the end
-- COST O(log N * log T + wanted), T members of that score
-- MODE read
local ids, score, id, wanted = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
-- bytes, not '<': Lua compares strings by the locale
local function less (a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
local low = redis.call('ZCOUNT', ids, '(' .. score, '+inf')
local high = low + redis.call('ZCOUNT', ids, score, score)
while low < high do
  local middle = math.floor((low + high) / 2)
  if less(redis.call('ZREVRANGE', ids, middle, middle)[1], id) then high = middle else low = middle + 1 end
end
return redis.call('ZREVRANGE', ids, low, low + wanted - 1, 'WITHSCORES')
