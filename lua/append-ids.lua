-- Writes the versions that are not older than the stored ones, deletions included (setting late: drop). Equal ones are written: the later append wins.
-- Atomic, because another writer may store a newer version between the comparison and the write.
-- KEYS [1] ids: sorted set, [2..n+1] item keys: strings; all of one slot
-- ARGV [1] bytes before the id in an item key: integer, [2] expiry in ms: integer, 0 = none, [3] expiry of tombstones in ms: integer, [4..n+3] records: 8 bytes of order (lowest bit: a deletion), then the value; n from 1 to 1,996
-- RETURNS integer, how many were older and dropped
-- COST O(n log N)
-- MODE writes
local ids, prefix, ttl, tombstone, n = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], #KEYS - 1
local function order (record)
  local a, b, c, d, e, f, g, h = string.byte(record, 1, 8)
  local ts = ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
  return ts + (g * 16 + math.floor(h / 16)) / 4096, h % 2 == 1
end
local members = {}
for i = 1, n do members[i] = string.sub(KEYS[i + 1], prefix + 1) end
local stored = redis.call('ZMSCORE', ids, unpack(members))
local newest, late = {}, 0
for i = 1, n do
  local member, record = members[i], ARGV[i + 3]
  local score, deletion = order(record)
  local known = newest[member] or stored[i] and tonumber(stored[i])
  if not known then
    -- not in the set: deleted, or never there
    local head = redis.call('GETRANGE', KEYS[i + 1], 0, 7)
    known = #head == 8 and order(head) or -1
  end
  if score < known then
    late = late + 1
  else
    newest[member] = score
    if deletion then
      redis.call('SET', KEYS[i + 1], record, 'PX', tombstone)
      redis.call('ZREM', ids, member)
    else
      if ttl > 0 then
        redis.call('SET', KEYS[i + 1], record, 'PX', ttl)
      else
        redis.call('SET', KEYS[i + 1], record)
      end
      redis.call('ZADD', ids, string.format('%.17g', score), member)
    end
  end
end
if ttl > 0 then redis.call('PEXPIRE', ids, ttl) end
return late
