-- Writes the versions that are not older than the stored ones (setting late: drop). Equal ones are written: the later append wins.
-- Atomic, because another writer may store a newer version between the comparison and the write.
-- KEYS [1] ids: sorted set, [2..n+1] item keys: strings; all of one slot
-- ARGV [1] bytes before the id in an item key: integer, [2] expiry in ms: integer, 0 = none, [3..n+2] records: 8 bytes of order, then the value; n from 1 to 1,997
-- RETURNS integer, how many were older and dropped
-- COST O(n log N)
-- MODE writes
local ids, prefix, ttl, n = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), #KEYS - 1
local members = {}
for i = 1, n do members[i] = string.sub(KEYS[i + 1], prefix + 1) end
local stored = redis.call('ZMSCORE', ids, unpack(members))
local newest, late = {}, 0
for i = 1, n do
  local a, b, c, d, e, f, g, h = string.byte(ARGV[i + 2], 1, 8)
  local ts = ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
  local score = ts + (g * 16 + math.floor(h / 16)) / 4096
  local known = newest[members[i]] or tonumber(stored[i] or -1)
  if score < known then
    late = late + 1
  else
    newest[members[i]] = score
    if ttl > 0 then
      redis.call('SET', KEYS[i + 1], ARGV[i + 2], 'PX', ttl)
    else
      redis.call('SET', KEYS[i + 1], ARGV[i + 2])
    end
    redis.call('ZADD', ids, string.format('%.17g', score), members[i])
  end
end
if ttl > 0 then redis.call('PEXPIRE', ids, ttl) end
return late
