for _, entry in ipairs(entries) do
  local target, request, seq, version, event = unpack(entry)
  local events = target.events
  if seq > 0 then redis.call('XADD', events, string.format('%.0f-0', seq), 'seq', string.format('%.0f', seq), 'ts', nowText, unpack(event)) end
  redis.call('XADD', outbox, 'MINID', '~', since, steadyText .. '-*', 'rule', target.rule, 'key', target.key, 'ts', nowText, 'request', request,
    'seq', string.format('%.0f', seq), 'version', string.format('%.0f', version), unpack(event))
end
for _, target in pairs(targets) do
  if target.isKept then
    local state, events = target.state, target.events
    local flat, removed = { '@seq', string.format('%.0f', target.seq), '@version', string.format('%.0f', target.version) }, {}
    for field, value in pairs(target.changed) do
      if value then
        flat[#flat + 1] = field
        flat[#flat + 1] = value
      else
        removed[#removed + 1] = field
      end
    end
    for i = 1, #flat, 1000 do redis.call('HSET', state, unpack(flat, i, math.min(#flat, i + 999))) end
    for i = 1, #removed, 1000 do redis.call('HDEL', state, unpack(removed, i, math.min(#removed, i + 999))) end
    if keptEvents[target.rule] then redis.call('XTRIM', events, 'MAXLEN', '~', keptEvents[target.rule]) end
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
