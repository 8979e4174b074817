-- Removes the oldest versions of a partition that are not live, up to a limit.
-- Atomic, because every write changes what is live: a trimmer that counted earlier would remove live versions.
-- KEYS [1] values: sorted set
-- ARGV [1] ts before which versions are not live: ms, 0 = no age limit, [2] versions kept: integer, 0 = no limit, [3] versions removed at most: integer
-- RETURNS integer, versions that were not live, removed or not
-- COST O(log N + removed)
-- MODE writes
local values, minTs, kept, most = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local dead = redis.call('ZCOUNT', values, '-inf', '(' .. minTs)
if kept > 0 then dead = math.max(dead, redis.call('ZCARD', values) - kept) end
if dead > 0 then redis.call('ZREMRANGEBYRANK', values, 0, math.min(dead, most) - 1) end
return dead
