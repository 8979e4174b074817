-- Whether the user may send a command, asked once for what holds the key. Lua does not roll back, so this comes before the first write. Before Redis 7.0 servers cannot say.
local mayRun = redis.acl_check_cmd
local function expectAllowed (holder, command, key, ...)
  if holder[command] then return end
  if mayRun and not mayRun(command, key, ...) then error('NOPERM the user may not run ' .. command .. ' on ' .. key, 0) end
  holder[command] = true
end
