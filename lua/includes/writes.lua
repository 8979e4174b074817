for _, entry in ipairs(entries) do
  local target, request, seq, fields = unpack(entry)
  local events = target.events
  if seq and own then redis.call('XADD', events, seq .. '-0', 'ts', nowText, unpack(fields)) end
  if seq and not own then redis.call('XADD', events, seq .. '-0', 'ts', nowText, 'request', request, unpack(fields)) end
  redis.call('XADD', outbox, 'MINID', '~', since, nowText .. '-*', 'rule', target.rule, 'key', target.key, 'ts', nowText, 'request', request, unpack(fields))
end
for _, target in pairs(targets) do
  if target.isChanged then
    local state, events = target.state, target.events
    local written, removed = form.written(target), {}
    for field, value in pairs(target.changed) do
      if value then
        written[#written + 1] = field
        written[#written + 1] = value
      else
        removed[#removed + 1] = field
      end
    end
    for i = 1, #written, 1000 do redis.call('HSET', state, unpack(written, i, math.min(#written, i + 999))) end
    for i = 1, #removed, 1000 do redis.call('HDEL', state, unpack(removed, i, math.min(#removed, i + 999))) end
    if (target.keepEvents or 0) > 0 then redis.call('XTRIM', events, 'MAXLEN', '~', target.keepEvents) end
    writeKept(target.kept)
    if target.ends then
      for i = target.first, target.last do redis.call('PEXPIRE', KEYS[i], keep) end
    end
  end
end
for task, due in pairs(dues) do
  if due then redis.call('ZADD', tasks, due, task) else redis.call('ZREM', tasks, task) end
end
for _, request in ipairs(decided) do redis.call('SET', request, accepted[request], 'PX', expiry) end
if reopened > 0 then redis.call('HINCRBY', generation, 'n', reopened) end
