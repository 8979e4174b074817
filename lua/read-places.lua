-- Reads where users are in the waiting room of a key: waiting, admitted, or done.
-- Atomic, because a place, its claim and the numbers of the sale belong together.
-- KEYS [1] state: hash, [2] members: hash, [3] waiting: sorted set, [4] holds: sorted set, [5] generation: hash
-- ARGV [1..n] users, at most 256
-- RETURNS stock, sold, status, slots, turnMs, openAt of the state, then of each user a text of claim, its status, the number of those ahead and the end of the hold, - for none; empty for a user who never joined
-- COST O(n log N)
-- MODE read
local state, members, waiting, holds, generation = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
-- holds are on the steady clock of the partition
local back = redis.call('HGET', generation, 'back') or 0
local places = redis.call('HMGET', state, 'stock', 'sold', 'status', 'slots', 'turnMs', 'openAt')
for i = 1, #ARGV do
  local user = ARGV[i]
  local known = redis.call('HGET', members, 'wait ' .. user)
  local place = ''
  if known then
    local claim = string.match(known, ' (%S+)$')
    local status = string.match(redis.call('HGET', members, 'claim ' .. claim) or '-', '^(%S+)')
    local ahead = redis.call('ZRANK', waiting, user) or '-'
    local ends = redis.call('ZSCORE', holds, claim)
    place = table.concat({ claim, status, ahead, ends and string.format('%.0f', ends - back) or '-' }, ' ')
  end
  places[#places + 1] = place
end
return places
