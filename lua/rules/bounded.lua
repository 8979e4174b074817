-- Rule bounded: units of a stock. A claim is accepted while units are available and its user is below the limit; first a hold, then sold.
-- STATE stock, available, held, sold, perUser, openAt, closeAt, holdMs, status (open, closed), seq, version; members: `user <user>` units of the user, `claim <claim>` status quantity user
-- ARGS create stock perUser openAt closeAt holdMs; claim user quantity claim; confirm user claim; release user claim; expire; restock quantity; close
-- CODES created, unchanged, has_claims, unknown, not_open, closed, accepted, sold_out, all_held, insufficient, already_claimed, released, unknown_claim, already_sold, hold_expired, not_due
function rules.bounded ()
  local n = tonumber
  local function text (number) return string.format('%.0f', number) end
  local function add (state, field, more) state[field] = text(n(state[field]) + more) end
  local function outcome (state)
    return { 'available', state.available, 'held', state.held, 'sold', state.sold, 'seq', state.seq }
  end
  local function event (state, type, claim, user, quantity)
    add(state, 'seq', 1)
    return { 'seq', state.seq, 'type', type, 'claim', claim, 'user', user, 'quantity', quantity, 'available', state.available }
  end
  local function parse (claim)
    if claim then return string.match(claim, '^(%S+) (%S+) (%S+)$') end
  end
  local function isEnded (state, now) return state.status == 'closed' or now >= n(state.closeAt) end
  local function left (units) return units > 0 and text(units) or false end
  local ops = {}

  function ops.create (state, args)
    local fields = { 'stock', 'perUser', 'openAt', 'closeAt', 'holdMs' }
    local isSame = state.status ~= nil
    for i, field in ipairs(fields) do isSame = isSame and state[field] == args[i + 1] end
    if isSame then return 'unchanged', outcome(state) end
    if state.status and (state.available ~= state.stock or state.status == 'closed') then return 'has_claims', outcome(state) end
    for i, field in ipairs(fields) do state[field] = args[i + 1] end
    state.status, state.available, state.held, state.sold, state.seq = 'open', state.stock, '0', '0', state.seq or '0'
    return 'created', outcome(state), { events = { { 'seq', '0', 'type', 'open' } } }
  end

  function ops.claim (state, args, now, read)
    local user, quantity, claim = args[2], n(args[3]), args[4]
    if now < n(state.openAt) then return 'not_open', { 'openAt', state.openAt } end
    if isEnded(state, now) then return 'closed', outcome(state) end
    local known, owned = parse(read.member('claim ' .. claim)), n(read.member('user ' .. user) or '0')
    if known == 'released' then return 'released', outcome(state) end
    if known or owned + quantity > n(state.perUser) then return 'already_claimed', outcome(state) end
    if n(state.available) < quantity then
      if state.sold == state.stock then return 'sold_out', outcome(state) end
      if state.held == '0' then return 'insufficient', outcome(state) end
      local details = outcome(state)
      table.insert(details, 'nextHoldUntil')
      table.insert(details, read.firstHold())
      return 'all_held', details
    end
    local isHold = state.holdMs ~= '0'
    local status, untilMs = isHold and 'held' or 'sold', text(now + n(state.holdMs))
    add(state, 'available', -quantity)
    add(state, status, quantity)
    local change = {
      events = { event(state, status, claim, user, args[3]) },
      members = { { 'user ' .. user, text(owned + quantity) }, { 'claim ' .. claim, status .. ' ' .. args[3] .. ' ' .. user } },
      holds = isHold and { { claim, untilMs } } or {}
    }
    local details = outcome(state)
    table.insert(details, 'status')
    table.insert(details, status)
    if isHold then
      table.insert(details, 'holdUntil')
      table.insert(details, untilMs)
    end
    return 'accepted', details, change
  end

  function ops.confirm (state, args, now, read)
    local status, quantity, user = parse(read.member('claim ' .. args[3]))
    if not status or user ~= args[2] then return 'unknown_claim', outcome(state) end
    if status == 'sold' then return 'already_sold', outcome(state) end
    if status ~= 'held' or now >= n(read.holdUntil(args[3])) then return 'hold_expired', outcome(state) end
    add(state, 'held', -n(quantity))
    add(state, 'sold', n(quantity))
    local events = { event(state, 'sold', args[3], user, quantity) }
    local members = { { 'claim ' .. args[3], 'sold ' .. quantity .. ' ' .. user } }
    return 'accepted', outcome(state), { events = events, members = members, holds = { { args[3] } } }
  end

  local function free (state, claim, status, quantity, user, type, read)
    local wasSoldOut = state.sold == state.stock
    add(state, status, -n(quantity))
    add(state, 'available', n(quantity))
    local owned = n(read.member('user ' .. user)) - n(quantity)
    return {
      events = { event(state, type, claim, user, quantity) },
      members = { { 'user ' .. user, left(owned) }, { 'claim ' .. claim, type .. ' ' .. quantity .. ' ' .. user } },
      holds = { { claim } }, reopens = wasSoldOut
    }
  end

  function ops.release (state, args, now, read)
    local status, quantity, user = parse(read.member('claim ' .. args[3]))
    if not status then
      -- a later hold of it comes too late
      return 'accepted', outcome(state), { events = {}, members = { { 'claim ' .. args[3], 'released 0 ' .. args[2] } } }
    end
    if user ~= args[2] then return 'unknown_claim', outcome(state) end
    if status ~= 'held' and status ~= 'sold' then return 'released', outcome(state) end
    local change = free(state, args[3], status, quantity, user, 'released', read)
    return 'accepted', outcome(state), change
  end

  function ops.expire (state, args, now, read)
    local claim = read.holdDue(now)
    if not claim then return 'not_due', outcome(state) end
    local status, quantity, user = parse(read.member('claim ' .. claim))
    local change = free(state, claim, status, quantity, user, 'expired', read)
    return 'accepted', outcome(state), change
  end

  function ops.restock (state, args)
    local wasSoldOut = state.sold == state.stock
    add(state, 'stock', n(args[2]))
    add(state, 'available', n(args[2]))
    local events = { event(state, 'restocked', '', '', args[2]) }
    return 'accepted', outcome(state), { events = events, reopens = wasSoldOut }
  end

  function ops.close (state)
    if state.status == 'closed' then return 'closed', outcome(state) end
    state.status = 'closed'
    local events = { event(state, 'closed', '', '', '0') }
    return 'accepted', outcome(state), { events = events }
  end

  return function (state, args, now, read)
    if args[1] ~= 'create' and not state.status then return 'unknown', {} end
    return ops[args[1]](state, args, now, read)
  end
end
