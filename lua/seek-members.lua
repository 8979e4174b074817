-- Reads the members of a sorted set next to a place in its order (score, then bytes), on its older or newer side, also if many members share that score.
-- Atomic, because ranks change with every write; paging by rank or offset alone would lose or repeat members.
-- KEYS [1] members: sorted set
-- ARGV [1] score of the place: number, [2] the place among members of that score: bytes of a member or between members, [3] side: older or newer, [4] members wanted: integer from 1 to 1,001
-- RETURNS array of 2: members that are not on that side, the place itself included: integer; array of member, score, member, score, ..., nearest first, empty at the end
-- COST O(log N * log T + wanted), T members of that score
-- MODE read
local members, score, place, newer, wanted = KEYS[1], ARGV[1], ARGV[2], ARGV[3] == 'newer', tonumber(ARGV[4])
-- @include less
local low = redis.call('ZCOUNT', members, '-inf', '(' .. score)
local high = low + redis.call('ZCOUNT', members, score, score)
while low < high do
  local middle = math.floor((low + high) / 2)
  local member = redis.call('ZRANGE', members, middle, middle)[1]
  if less(member, place) or (newer and member == place) then low = middle + 1 else high = middle end
end
if newer then return { low, redis.call('ZRANGE', members, low, low + wanted - 1, 'WITHSCORES') } end
local beyond = redis.call('ZCARD', members) - low
return { beyond, redis.call('ZREVRANGE', members, beyond, beyond + wanted - 1, 'WITHSCORES') }
