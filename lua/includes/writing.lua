-- Ids of entries are behind the last id of their stream, also where that is ahead of what is known here: after entries were removed, or a clock was corrected.
local outboxMs = steadyText
local function lastMsOf (stream)
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return string.match(info[i + 1], '^%d+') end
  end
end
-- Before Redis 7.0 servers cannot say what the user may run. Lua does not roll back, so this is asked before the first write.
local mayRun = redis.acl_check_cmd
