-- Finds members of one score of a sorted set by how they begin, also where very many others share that score and lie between.
-- Atomic, because ranks change with every write.
-- KEYS [1] members: sorted set
-- ARGV [1] score: number, [2..n] bytes behind all members that begin as wanted, ascending, at most 500
-- RETURNS array: for each the last member at or before it, of that score, or false
-- COST O(n * log D * log N), D members between two of them
-- MODE read
local members, score = KEYS[1], ARGV[1]
-- @include less
local first = redis.call('ZCOUNT', members, '-inf', '(' .. score)
local behind = first + redis.call('ZCOUNT', members, score, score)
local found, at = {}, first
local function isBehind (rank, bound) return rank >= behind or less(bound, redis.call('ZRANGE', members, rank, rank)[1]) end
for i = 2, #ARGV do
  local bound, step = ARGV[i], 1
  -- ever further steps from the one before, then the middle of the last
  while not isBehind(at + step - 1, bound) do
    at = at + step
    step = step * 2
  end
  local high = at + step - 1
  while at < high do
    local middle = math.floor((at + high) / 2)
    if isBehind(middle, bound) then high = middle else at = middle + 1 end
  end
  found[i - 1] = at > first and redis.call('ZRANGE', members, at - 1, at - 1)[1]
end
return found
