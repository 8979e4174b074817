-- Rule bounded: units of a stock. A claim is accepted while units are available and its user is below the limit; first a hold, then sold.
-- STATE stock, available, held, sold, perUser, openAt, closeAt, holdMs, mode, slots, queued, turnMs, lineage, status (open, paused, closed), seq, version; members: `user <user>` units of the user, `claim <claim>` status quantity user and the number of its first event, `wait <user>` place claim
-- ARGS create stock perUser openAt closeAt holdMs mode slots recorded; claim user quantity claim final mode; confirm user claim final; settle user claim; release user claim [status]; join user claim; leave user claim; expire; open; due; restock quantity; pause; resume; close; restore (claim user quantity status)...; adopt
-- CODES created, unchanged, has_claims, unknown, restoring, other_mode, not_open, closed, paused, accepted, sold_out, all_held, insufficient, over_limit, already_claimed, released, unknown_claim, not_admitted, admitted, waiting, already_sold, hold_expired, not_due
function rules.bounded ()
  local n, maxExpired, turnWeight = tonumber, 64, 8
  local restoring = { create = true, restore = true, adopt = true, close = true, due = true, pause = true }
  local function text (number) return string.format('%.0f', number) end
  local function add (state, field, more) state[field] = text(n(state[field]) + more) end
  local function outcome (state)
    return { 'available', state.available, 'held', state.held, 'sold', state.sold, 'seq', state.seq }
  end
  local function with (list, ...)
    for _, one in ipairs({ ... }) do list[#list + 1] = one end
    return list
  end
  local function nothing () return { events = {}, members = {}, units = {}, holds = {}, waiting = {} } end
  local function event (state, type, claim, user, quantity)
    add(state, 'seq', 1)
    return { 'seq', state.seq, 'type', type, 'claim', claim, 'user', user, 'quantity', quantity,
      'available', state.available, 'held', state.held, 'sold', state.sold }
  end
  local function parse (member)
    if member then return string.match(member, '^(%S+) (%S+) ?(%S*) ?(%S*)$') end
  end
  local function isEnded (state, now) return state.status == 'closed' or now >= n(state.closeAt) end
  local function isRestoring (state, read) return state.lineage and state.lineage ~= read.lineage() end
  local function isSold (status) return status == 'sold' or status == 'pending' end
  local function hasUnits (status) return status == 'held' or isSold(status) end

  local function blocked (state, now)
    if now < n(state.openAt) then return 'not_open', { 'openAt', state.openAt } end
    if isEnded(state, now) then return 'closed', outcome(state) end
    if state.status == 'paused' then return 'paused', outcome(state) end
  end

  local function admitOne (state, now, change, user, place, claim)
    local untilMs = text(now + n(state.holdMs))
    add(state, 'available', -1)
    add(state, 'held', 1)
    with(change.events, with(event(state, 'held', claim, user, '1'), 'until', untilMs, 'place', place))
    with(change.members, { 'claim ' .. claim, 'held 1 ' .. user .. ' ' .. state.seq })
    with(change.units, { user, 1 })
    with(change.holds, { claim, untilMs })
    with(change.waiting, { user })
  end

  local function slotsLeft (state) return math.min(n(state.slots) - n(state.held), n(state.available)) end

  local function admit (state, now, read, change, leaving)
    local free = slotsLeft(state)
    if state.mode ~= 'queue' or free <= 0 or blocked(state, now) then return end
    for _, user in ipairs(read.waiting(free + 1)) do
      if user ~= leaving and free > 0 then
        free = free - 1
        admitOne(state, now, change, user, parse(read.member('wait ' .. user)))
      end
    end
  end

  local function placeOf (state, position)
    return { 'position', text(position), 'etaMs', text(math.ceil(position / n(state.slots)) * n(state.turnMs)) }
  end

  local function noteTurn (state, now, untilMs)
    if state.mode ~= 'queue' or not untilMs then return end
    local took = now - (n(untilMs) - n(state.holdMs))
    add(state, 'turnMs', math.floor((took - n(state.turnMs)) / turnWeight))
  end

  local function free (state, change, claim, status, quantity, user, since, type)
    add(state, status == 'sold' and 'sold' or 'held', -n(quantity))
    add(state, 'available', n(quantity))
    with(change.events, event(state, type, claim, user, quantity))
    with(change.members, { 'claim ' .. claim, type .. ' ' .. quantity .. ' ' .. user .. ' ' .. since })
    with(change.units, { user, -n(quantity) })
    with(change.holds, { claim })
  end
  local ops = {}

  function ops.create (state, args, now)
    local fields = { 'stock', 'perUser', 'openAt', 'closeAt', 'holdMs', 'mode', 'slots' }
    local isSame = state.status ~= nil
    for i, field in ipairs(fields) do isSame = isSame and state[field] == args[i + 1] end
    if isSame then return 'unchanged', outcome(state) end
    if state.status and (state.available ~= state.stock or state.queued ~= '0' or state.status == 'closed') then
      return 'has_claims', outcome(state)
    end
    for i, field in ipairs(fields) do state[field] = args[i + 1] end
    if args[9] == '1' then state.lineage = '' end
    state.status, state.available, state.held, state.sold, state.seq = 'open', state.stock, '0', '0', state.seq or '0'
    state.queued, state.turnMs = '0', state.holdMs
    local opens = state.mode == 'queue' and now < n(state.openAt)
    local tasks = { { 'open', opens and state.openAt }, { 'due', state.closeAt } }
    return 'created', outcome(state), { events = { { 'seq', '0', 'type', 'open' } }, tasks = tasks }
  end

  local function shortage (state, read)
    if state.sold == state.stock then return 'sold_out', outcome(state) end
    if state.held == '0' then return 'insufficient', outcome(state) end
    return 'all_held', with(outcome(state), 'nextHoldUntil', read.firstHold() or '')
  end

  function ops.claim (state, args, now, read)
    local user, quantity, claim = args[2], n(args[3]), args[4]
    if state.mode ~= args[6] then return 'other_mode', { 'mode', state.mode } end
    local why, details = blocked(state, now)
    if why then return why, details end
    local known, owned = parse(read.member('claim ' .. claim)), n(read.member('user ' .. user) or '0')
    if known and not hasUnits(known) then return 'released', outcome(state) end
    if quantity > n(state.perUser) then return 'over_limit', { 'perUser', state.perUser } end
    if known or owned + quantity > n(state.perUser) then return 'already_claimed', outcome(state) end
    if n(state.available) < quantity then return shortage(state, read) end
    local status, untilMs = state.holdMs == '0' and args[5] or 'held', text(now + n(state.holdMs))
    add(state, 'available', -quantity)
    add(state, status == 'sold' and 'sold' or 'held', quantity)
    local one, isHold = event(state, status, claim, user, args[3]), status == 'held'
    local change = {
      events = { isHold and with(one, 'until', untilMs) or one },
      members = { { 'claim ' .. claim, status .. ' ' .. args[3] .. ' ' .. user .. ' ' .. state.seq } },
      units = { { user, quantity } },
      holds = isHold and { { claim, untilMs } } or {}
    }
    local told = with(outcome(state), 'claim', claim, 'status', status)
    return 'accepted', isHold and with(told, 'until', untilMs) or told, change
  end

  -- a hold becomes final, or a pending claim becomes sold
  local function finish (state, args, now, read, quantity, owner, since, final)
    local change = nothing()
    if final == 'sold' then
      add(state, 'held', -n(quantity))
      add(state, 'sold', n(quantity))
    end
    noteTurn(state, now, read.holdUntil(args[3]))
    with(change.events, event(state, final, args[3], owner, quantity))
    with(change.members, { 'claim ' .. args[3], final .. ' ' .. quantity .. ' ' .. owner .. ' ' .. since })
    with(change.holds, { args[3] })
    admit(state, now, read, change)
    return 'accepted', with(outcome(state), 'claim', args[3], 'status', final), change
  end

  function ops.confirm (state, args, now, read)
    local status, quantity, owner, since = parse(read.member('claim ' .. args[3]))
    if not status or (args[2] ~= '' and owner ~= args[2]) then return 'unknown_claim', outcome(state) end
    if status == 'waiting' then return 'not_admitted', outcome(state) end
    if isSold(status) then return 'already_sold', with(outcome(state), 'status', status) end
    if status ~= 'held' or now >= n(read.holdUntil(args[3])) then return 'hold_expired', outcome(state) end
    return finish(state, args, now, read, quantity, owner, since, args[4])
  end

  function ops.settle (state, args, now, read)
    local status, quantity, owner, since = parse(read.member('claim ' .. args[3]))
    if status == 'sold' then return 'already_sold', outcome(state) end
    if status ~= 'pending' then return 'unknown_claim', outcome(state) end
    return finish(state, args, now, read, quantity, owner, since, 'sold')
  end

  function ops.release (state, args, now, read)
    local status, quantity, owner, since = parse(read.member('claim ' .. args[3]))
    if args[4] and status ~= args[4] then return 'unknown_claim', outcome(state) end
    if not status and args[2] ~= '' then
      -- a later hold of it comes too late
      return 'accepted', outcome(state), { events = {}, members = { { 'claim ' .. args[3], 'released 0 ' .. args[2] .. ' 0' } } }
    end
    if not status or status == 'waiting' or (args[2] ~= '' and owner ~= args[2]) then return 'unknown_claim', outcome(state) end
    if not hasUnits(status) then return 'released', outcome(state) end
    local change = nothing()
    change.reopens = state.sold == state.stock
    noteTurn(state, now, read.holdUntil(args[3]))
    free(state, change, args[3], status, quantity, owner, since, status == 'sold' and 'revoked' or 'released')
    admit(state, now, read, change)
    return 'accepted', outcome(state), change
  end

  function ops.join (state, args, now, read)
    local user, claim = args[2], args[3]
    if state.mode ~= 'queue' then return 'other_mode', { 'mode', state.mode } end
    if isEnded(state, now) then return 'closed', outcome(state) end
    local _, known = parse(read.member('wait ' .. user))
    local status = parse(read.member('claim ' .. (known or '')))
    if status == 'held' then return 'admitted', { 'until', read.holdUntil(known) } end
    if status == 'waiting' then return 'waiting', placeOf(state, read.position(user)) end
    if read.member('claim ' .. claim) or n(read.member('user ' .. user) or '0') >= n(state.perUser) then
      return 'already_claimed', with(outcome(state), 'status', status or '')
    end
    if state.sold == state.stock then return 'sold_out', outcome(state) end
    local change, ahead = nothing(), read.waitingCount()
    add(state, 'queued', 1)
    with(change.members, { 'wait ' .. user, state.queued .. ' ' .. claim })
    if ahead == 0 and slotsLeft(state) > 0 and not blocked(state, now) then
      admitOne(state, now, change, user, state.queued, claim)
      return 'accepted', { 'status', 'admitted', 'until', text(now + n(state.holdMs)) }, change
    end
    with(change.members, { 'claim ' .. claim, 'waiting 0 ' .. user .. ' 0' })
    with(change.waiting, { user, state.queued })
    local place = placeOf(state, ahead + 1)
    return 'accepted', { 'status', 'waiting', unpack(place) }, change
  end

  function ops.leave (state, args, now, read)
    local user, claim = args[2], args[3]
    local _, known = parse(read.member('wait ' .. user))
    local status, quantity, _, since = parse(read.member('claim ' .. claim))
    if known ~= claim then return 'unknown_claim', {} end
    if isSold(status) then return 'already_sold', outcome(state) end
    if status ~= 'waiting' and status ~= 'held' then return 'released', outcome(state) end
    local change = nothing()
    if status == 'waiting' then
      with(change.members, { 'claim ' .. claim, 'left 0 ' .. user .. ' 0' })
      with(change.waiting, { user })
    else
      noteTurn(state, now, read.holdUntil(claim))
      free(state, change, claim, status, quantity, user, since, 'released')
    end
    admit(state, now, read, change, user)
    return 'accepted', outcome(state), change
  end

  local function expireAll (state, now, read, change, claims)
    for _, claim in ipairs(claims) do
      local status, quantity, user, since = parse(read.member('claim ' .. claim))
      noteTurn(state, now, read.holdUntil(claim))
      free(state, change, claim, status, quantity, user, since, 'expired')
    end
  end

  function ops.expire (state, args, now, read)
    local claims, change = read.holdsDue(now, maxExpired), nothing()
    if #claims == 0 then return 'not_due', outcome(state) end
    expireAll(state, now, read, change, claims)
    admit(state, now, read, change)
    return 'accepted', outcome(state), change
  end

  function ops.open (state, args, now, read)
    if now < n(state.openAt) then return 'not_due', outcome(state) end
    local change = nothing()
    admit(state, now, read, change)
    change.tasks = { { 'open' } }
    return 'accepted', outcome(state), change
  end

  function ops.restock (state, args, now, read)
    if isEnded(state, now) then return 'closed', outcome(state) end
    local change = nothing()
    change.reopens = state.sold == state.stock
    add(state, 'stock', n(args[2]))
    add(state, 'available', n(args[2]))
    with(change.events, event(state, 'restocked', '', '', args[2]))
    admit(state, now, read, change)
    return 'accepted', outcome(state), change
  end

  local function turnTo (state, now, read, status, type)
    if isEnded(state, now) then return 'closed', outcome(state) end
    if state.status == status then return 'unchanged', outcome(state) end
    state.status = status
    local change = nothing()
    with(change.events, event(state, type, '', '', '0'))
    admit(state, now, read, change)
    return 'accepted', outcome(state), change
  end
  function ops.pause (state, args, now, read) return turnTo(state, now, read, 'paused', 'paused') end
  function ops.resume (state, args, now, read) return turnTo(state, now, read, 'open', 'resumed') end

  local function finishSale (state)
    state.status = 'closed'
    local events = { event(state, 'closed', '', '', '0') }
    return 'accepted', outcome(state), { events = events, tasks = { { 'due' }, { 'open' } }, ends = true }
  end
  function ops.close (state)
    if state.status == 'closed' then return 'closed', outcome(state) end
    return finishSale(state)
  end
  function ops.due (state, args, now)
    if state.status == 'closed' or now < n(state.closeAt) then return 'not_due', outcome(state) end
    return finishSale(state)
  end

  local function restoreOne (state, change, claim, user, quantity, status, read)
    local known, ownQuantity, owner, since = parse(read.member('claim ' .. claim))
    local has = known and hasUnits(known)
    if status ~= 'sold' then
      if has then free(state, change, claim, known, ownQuantity, owner, since, 'revoked') end
      return
    end
    if known == 'sold' then return end
    if known == 'waiting' then with(change.waiting, { owner }) end
    local units = has and ownQuantity or quantity
    add(state, has and 'held' or 'available', -n(units))
    add(state, 'sold', n(units))
    local buyer = has and owner or user
    with(change.events, event(state, 'sold', claim, buyer, units))
    with(change.members, { 'claim ' .. claim, 'sold ' .. units .. ' ' .. buyer .. ' ' .. (has and since or state.seq) })
    if not has then with(change.units, { user, n(quantity) }) end
    with(change.holds, { claim })
  end

  function ops.restore (state, args, now, read)
    if not isRestoring(state, read) then return 'unchanged', outcome(state) end
    local change = nothing()
    for i = 2, #args, 4 do restoreOne(state, change, args[i], args[i + 1], args[i + 2], args[i + 3], read) end
    return 'accepted', outcome(state), change
  end

  function ops.adopt (state, args, now, read)
    if state.lineage == read.lineage() then return 'unchanged', outcome(state) end
    local change, short = nothing(), math.max(0, -n(state.available))
    -- holds of a history that was lost may keep units that were sold in it
    expireAll(state, now, read, change, read.holdsDue('+inf', short))
    change.reopens = (state.lineage or '') ~= ''
    state.lineage = read.lineage()
    with(change.events, { 'seq', '0', 'type', 'restored' })
    admit(state, now, read, change)
    return 'accepted', outcome(state), change
  end

  return function (state, args, now, read)
    if args[1] ~= 'create' and not state.status then return 'unknown', {} end
    if isRestoring(state, read) and not restoring[args[1]] then return 'restoring', outcome(state) end
    return ops[args[1]](state, args, now, read)
  end
end
