-- Stores version and digest of rules, unless one of them is stored with a higher version, or with another text in the same one.
-- Atomic, because of processes with different rules only one may find its own stored.
-- KEYS [1] where they are stored: hash
-- ARGV [1..3n] of each rule: name, version, digest
-- RETURNS name and stored version of each rule that differs; nothing was stored then
-- COST O(n)
-- MODE writes
local stored, differing, flat = KEYS[1], {}, {}
for i = 1, #ARGV, 3 do
  local name, version, digest = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local own, found = version .. ' ' .. digest, redis.call('HGET', stored, 'rule:' .. name) or ''
  local known, knownDigest = string.match(found, '^(%d+) (%x+)$')
  if known and (tonumber(known) > tonumber(version) or (known == version and knownDigest ~= digest)) then
    differing[#differing + 1] = name
    differing[#differing + 1] = known
  end
  if found ~= own then
    flat[#flat + 1] = 'rule:' .. name
    flat[#flat + 1] = own
  end
end
if #differing == 0 and #flat > 0 then redis.call('HSET', stored, unpack(flat)) end
return differing
