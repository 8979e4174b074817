-- Appends versions of items and keeps the newest of each id, deletions included. Of equal versions the later append wins.
-- Atomic, because another writer may store a newer version between the comparison and the write.
-- KEYS [1] ids: sorted set, [2] deletions: string, exists while an id may have a tombstone, [3..n+2] item keys, of the same slot, unless MSETEX takes them
-- ARGV [1] n: integer, 1 to 996, [2] expiry in ms: integer, 0 = none, [3] expiry of tombstones in ms: integer, [4] whether the batch has deletions: 1 or 0, [5..2n+4] item key and record (8 bytes of order, lowest bit: a deletion, then the value) n times, records only if the keys are in KEYS, then PX and the expiry if there is one, then score and id n times
-- RETURNS array of integers: versions dropped because a newer one was there, bytes of their values; an error if a permission is missing
-- COST O(n log N); in Lua O(n) only when some version is not newer, an id is new while there are tombstones, or MSETEX cannot be used
-- MODE writes
local ids, deletions, n, ttl, tombstone, deletes = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local msetex = #KEYS == 2
local step = msetex and 2 or 1
local first = step * n + (ttl > 0 and 7 or 5)
local px, written = ttl > 0 and {'PX', ttl} or {}, {}
local function key (i) return msetex and ARGV[3 + 2 * i] or KEYS[2 + i] end
local function record (i) return ARGV[4 + step * i] end
local function set (i) local name = key(i) redis.call('SET', name, record(i), unpack(px)) end
local function keep (i) if msetex then written[#written + 1], written[#written + 2] = key(i), record(i) else set(i) end end
local function setAll (count, list, from, to)
  if ttl > 0 then redis.call('MSETEX', count, unpack(list, from, to)) else redis.call('MSET', unpack(list, from, to)) end
end
-- @include order
-- a permission that is revoked from a running writer must not leave a score without its value
local needed = {{'PEXPIRE', ids, 1}, {'PTTL', deletions}, {'ZMSCORE', ids, ''}, {'GETRANGE', ids, 0, 7}, {'SET', ids, ''}, {'ZREM', ids, ''}}
if msetex then needed[7] = ttl > 0 and {'MSETEX', 1, ids, ''} or {'MSET', ids, ''} end
for _, words in ipairs(needed) do
  if not redis.acl_check_cmd(unpack(words)) then
    return {err = "NOPERM this user has no permissions to run the '" .. string.lower(words[1]) .. "' command"}
  end
end
local size = redis.call('ZCARD', ids)
local changed = redis.call('ZADD', ids, 'GT', 'CH', unpack(ARGV, first))
if ttl > 0 then redis.call('PEXPIRE', ids, ttl) end
if changed == n and not deletes and (redis.call('ZCARD', ids) == size or redis.call('PTTL', deletions) == -2) then
  -- each version is newer than what was there, and none is older than a tombstone
  if msetex then setAll(n, ARGV, 5, first - 1) else for i = 1, n do set(i) end end
  return {0, 0}
end
local members, scores, newest = {}, {}, {}
for i = 1, n do
  local member, score = ARGV[first + 2 * i - 1], tonumber(ARGV[first + 2 * i - 2])
  members[i], scores[i] = member, score
  if not newest[member] or score >= scores[newest[member]] then newest[member] = i end
end
local stored, hasTombstones = redis.call('ZMSCORE', ids, unpack(members)), redis.call('PTTL', deletions) ~= -2
local before, late, bytes, deleted = {}, 0, 0, false
for i = 1, n do
  local name, member, score, last = key(i), members[i], scores[i], newest[members[i]]
  if not before[member] then
    before[member] = tonumber(stored[i])
    if before[member] == scores[last] then
      -- added or replaced by ZADD above; what was there stands in the key
      before[member] = (hasTombstones or last > i) and order(redis.call('GETRANGE', name, 0, 7)) or -1
      if before[member] > scores[last] then redis.call('ZREM', ids, member) end
    end
  end
  if score < before[member] then
    late, bytes = late + 1, bytes + #record(i) - 8
  else
    before[member] = score
    if i == last and string.byte(record(i), 8) % 2 == 1 then
      redis.call('SET', name, record(i), 'PX', tombstone)
      redis.call('ZREM', ids, member)
      deleted = true
    elseif i == last then
      keep(i)
    end
  end
end
written[#written + 1], written[#written + 2] = px[1], px[2]
if #written > #px then setAll((#written - #px) / 2, written, 1, #written) end
if deleted and redis.call('PTTL', deletions) < tonumber(tombstone) then redis.call('SET', deletions, 1, 'PX', tombstone) end
return {late, bytes}
