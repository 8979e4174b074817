-- The sale itself: created, restocked, paused, closed.

function ops.create (state, args, now)
  local fields = { 'stock', 'perUser', 'openAt', 'closeAt', 'holdMs', 'mode', 'slots' }
  local isAgain = args[10] and state.status == 'closed'
  if state.status == 'open' and args[10] then return 'exists', outcome(state) end
  local isSame = state.status ~= nil and not args[10]
  for i, field in ipairs(fields) do isSame = isSame and state[field] == args[i + 1] end
  if isSame then return 'unchanged', outcome(state) end
  if not args[10] and state.status and (state.available ~= state.stock or state.queued ~= '0' or state.status == 'closed') then
    return 'has_claims', outcome(state)
  end
  for i, field in ipairs(fields) do state[field] = args[i + 1] end
  if args[9] == '1' then state.lineage = '' end
  if args[10] then state.rememberMs, state.about = args[10], args[11] end
  state.status, state.available, state.held, state.sold, state.seq = 'open', state.stock, '0', '0', state.seq or '0'
  state.queued, state.turnMs = '0', state.holdMs
  local opens = state.mode == 'queue' and now < n(state.openAt)
  local tasks = { open = opens and state.openAt, due = not args[10] and state.closeAt }
  if isAgain then add(state, 'seq', 1) end
  local opened = { type = 'open' }
  if args[10] then opened.stock, opened.about = state.stock, state.about end
  return 'created', outcome(state), { events = isAgain and { opened } or nil, signals = not isAgain and { opened } or nil, tasks = tasks }
end

function ops.restock (state, args, now, read)
  if isEnded(state, now) then return 'closed', outcome(state) end
  local change = nothing()
  change.reopens = state.sold == state.stock
  add(state, 'stock', n(args[2]))
  add(state, 'available', n(args[2]))
  note(change, event(state, 'restocked', '', '', args[2]))
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end

local function turnTo (state, now, read, status, type)
  if isEnded(state, now) then return 'closed', outcome(state) end
  if state.status == status then return 'unchanged', outcome(state) end
  state.status = status
  local change = nothing()
  note(change, event(state, type, '', '', '0'))
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end
function ops.pause (state, args, now, read) return turnTo(state, now, read, 'paused', 'paused') end
function ops.resume (state, args, now, read) return turnTo(state, now, read, 'open', 'resumed') end

local function finishSale (state)
  state.status = 'closed'
  local events = { event(state, 'closed', '', '', '0') }
  return 'accepted', outcome(state), { events = events, tasks = { due = false, open = false }, ends = not state.rememberMs }
end
function ops.remove (state)
  if state.status == 'closed' then return 'closed', outcome(state) end
  if state.held ~= '0' then return 'has_holds', outcome(state) end
  return finishSale(state)
end
function ops.close (state)
  if state.status == 'closed' then return 'closed', outcome(state) end
  return finishSale(state)
end
function ops.due (state, args, now)
  if state.status == 'closed' or now < n(state.closeAt) then return 'not_due', outcome(state) end
  return finishSale(state)
end
