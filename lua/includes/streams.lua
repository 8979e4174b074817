-- Ids of entries are behind the last id of their stream, also where that is ahead of what is known here: after entries were removed, or a clock was corrected.
local function lastIdOf (stream)
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return info[i + 1] end
  end
end

local outboxMs = steadyText
local function addToOutbox (...)
  return redis.call('XADD', outbox, 'MINID', '~', since, outboxMs .. '-*', ...)
end
local function toOutbox (...)
  local ok, id = pcall(addToOutbox, ...)
  if ok then return id end
  outboxMs = string.match(lastIdOf(outbox), '^%d+')
  return addToOutbox(...)
end
