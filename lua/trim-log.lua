-- Removes the oldest entries of a log that have no live version, up to a limit.
-- Atomic, because a mark pairs the end of the log with the number of versions appended, and both change with every write.
-- KEYS [1] log: stream, [2] ahead: sorted set '<until>:<writer>' -> ms, [3] appended: string, versions appended, [4] marks: sorted set, entry id -> versions appended by then; all of one slot
-- ARGV [1] window: ms, 0 = no age limit, [2] versions kept: integer, 0 = no limit, [3] clock of the trimming writer: ms, [4] clock skew allowed: ms, [5] entries removed at most: integer, above stream-node-max-entries (100)
-- RETURNS integer, entries removed
-- COST O(log N + removed)
-- MODE writes
local log, ahead, appended, marks, window, kept, clock, slack, most = KEYS[1], KEYS[2], KEYS[3], KEYS[4], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local whole = function (number) return string.format('%.0f', number) end
local removed = 0
local function trim (id)
  if removed < most then removed = removed + redis.call('XTRIM', log, 'MINID', '~', id, 'LIMIT', most - removed) end
end

if window > 0 then
  local furthest = redis.call('ZREVRANGE', ahead, 0, 0, 'WITHSCORES')[2] or 0
  local oldest = math.floor(math.min(now - slack, clock)) - window - furthest
  if oldest > 0 then trim(whole(oldest)) end
end

if kept > 0 then
  local total = tonumber(redis.call('GET', appended) or 0)
  local marked = tonumber(redis.call('ZREVRANGE', marks, 0, 0, 'WITHSCORES')[2] or -1)
  -- the counter was reset
  if marked > total then redis.call('DEL', marks) end
  if marked > total or marked < 0 or total - marked >= kept / 64 then
    local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
    if newest then redis.call('ZADD', marks, whole(total), newest[1]) end
  end
  local beyond = redis.call('ZREVRANGEBYSCORE', marks, whole(total - kept), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if beyond[1] then
    local ms, n = string.match(beyond[1], '^(%d+)-(%d+)$')
    trim(ms .. '-' .. whole(n + 1))
    redis.call('ZREMRANGEBYSCORE', marks, '-inf', '(' .. beyond[2])
  end
  local ttl = redis.call('PTTL', log)
  if ttl > 0 then redis.call('PEXPIRE', marks, ttl) end
end

local announced = redis.call('ZRANGE', ahead, 0, 999)
if #announced > 0 then
  local oldest = redis.call('XRANGE', log, '-', '+', 'COUNT', 1)[1]
  local from = math.min(now, oldest and tonumber(string.match(oldest[1], '^%d+')) or now)
  for _, member in ipairs(announced) do
    local till = tonumber(string.match(member, '^(%d+):'))
    -- members in another format would stay for ever
    if not till or till < from then redis.call('ZREM', ahead, member) end
  end
end
return removed
