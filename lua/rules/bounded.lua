-- Rule bounded: units of a stock. A claim is accepted while units are available and its user is below the limit; first a hold, then sold.
-- VERSION 4
-- STATE stock, available, held, sold, perUser, openAt, closeAt, holdMs, mode, slots, queued, turnMs, lineage, rememberMs, about, status (open, paused, closed), seq, version; members: `user <user>` units of the user, `claim <claim>` status quantity user and the number of its first event, `wait <user>` place claim
-- ARGS create stock perUser openAt closeAt holdMs mode slots recorded [rememberMs about]; claim user quantity claim final mode [holdMs]; confirm user claim final; settle user claim; release user claim [status]; join user claim; leave user claim; expire; open; due; restock quantity; pause; resume; close; remove; restore (claim user quantity status)...; adopt
-- CODES created, unchanged, exists, has_claims, has_holds, unknown, restoring, other_mode, not_open, closed, paused, accepted, sold_out, all_held, insufficient, over_limit, already_claimed, released, unknown_claim, not_admitted, admitted, waiting, already_sold, hold_expired, not_due
--
--   claim      a hold, or final at once if holdMs is 0; `final`: sold, or pending; an empty holdMs is a hold without end
--   confirm    a hold becomes final; an empty user is any user
--   settle     a pending claim becomes sold: the database has it
--   release    a hold, or a final claim, only if it has this status, or no units left; of a stock with rememberMs also an unknown claim, which can then never be made
--   join       the waiting room; `slots` people at a time are admitted, each with a hold
--   leave      the waiting room, or an admission
--   expire, open, due   scheduled tasks: holds that are due, the time of opening, the time of closing
--   remove     as close, but not while units are held
--   restore    claims that the database has; nothing is sold until `adopt`: the state agrees with the database
--
-- available + held + sold = stock, always; pending claims are held. A claim that was released or has expired keeps its member, so that it is not made twice. Admission from the waiting room is part of the command that frees a slot, so no slot waits for a timer.
-- A stock with rememberMs, such as a product, can be created again after `remove` or `close`; its event numbers continue. It forgets a claim that long after it was sold or released; until then the claim cannot be made again. `about` is a text that comes back in its state.
-- A recorded sale belongs to a lineage. In another one its state may be an older copy, so it sells again only after `restore` and `adopt`.
local ops, kinds = {}, { 'members', 'holds', 'waiting' }
-- The units of a sale: how a command changes their numbers, and the event of it.
local n = tonumber
local function text (number) return string.format('%.0f', number) end
local function add (state, field, more) state[field] = text(n(state[field]) + more) end
local function outcome (state, more)
  local made = more or {}
  made.available, made.held, made.sold, made.seq = state.available, state.held, state.sold, state.seq
  return made
end
local function nothing () return { events = {}, members = {}, holds = {}, waiting = {}, quiet = true } end
local function event (state, type, claim, user, quantity)
  add(state, 'seq', 1)
  return { type = type, claim = claim, user = user, quantity = quantity, available = state.available, held = state.held, sold = state.sold }
end
local function note (change, event) change.events[#change.events + 1] = event end
-- the units of a user, of whom there is no member without any
local function unitsOf (name, read, members)
  local units = members and members[name]
  if units == nil then units = read.member(name) end
  if units and text(n(units) or 0 / 0) ~= units then error('the units of ' .. name .. ' are not an integer: ' .. units, 0) end
  return n(units or '0')
end
local function count (change, user, more, read)
  local name = 'user ' .. user
  local units = unitsOf(name, read, change.members) + more
  change.members[name] = units ~= 0 and text(units)
end
local function parse (member)
  if member then return string.match(member, '^(%S+) (%S+) ?(%S*) ?(%S*)$') end
end
local function isEnded (state, now) return state.status == 'closed' or now >= n(state.closeAt) end
local function isSold (status) return status == 'sold' or status == 'pending' end
local function hasUnits (status) return status == 'held' or isSold(status) end

local function blocked (state, now)
  if now < n(state.openAt) then return 'not_open', { openAt = state.openAt } end
  if isEnded(state, now) then return 'closed', outcome(state) end
  if state.status == 'paused' then return 'paused', outcome(state) end
end

-- when a claim without units, or a sold one, is forgotten; false = never
local function rememberedUntil (state, now) return state.rememberMs and text(now + n(state.rememberMs)) or false end
-- of a stock that forgets claims, only the newest events are kept
local function kept (state, change)
  change.keepEvents = state.rememberMs and 1000 or nil
  return change
end

local function free (state, change, now, claim, status, quantity, user, since, type, read)
  add(state, status == 'sold' and 'sold' or 'held', -n(quantity))
  add(state, 'available', n(quantity))
  note(change, event(state, type, claim, user, quantity))
  change.members['claim ' .. claim] = type .. ' ' .. quantity .. ' ' .. user .. ' ' .. since
  count(change, user, -n(quantity), read)
  change.holds[claim] = rememberedUntil(state, now)
end
-- The waiting room: people join, are admitted in order as slots and units become free, and leave.
-- of the mean time that an admitted person takes, the share of a new one is one in
local turnWeight = 8

local function admitOne (state, now, change, read, user, place, claim)
  local untilMs = text(now + n(state.holdMs))
  add(state, 'available', -1)
  add(state, 'held', 1)
  local held = event(state, 'held', claim, user, '1')
  held['until'], held.place = untilMs, place
  note(change, held)
  change.members['claim ' .. claim] = 'held 1 ' .. user .. ' ' .. state.seq
  count(change, user, 1, read)
  change.holds[claim], change.waiting[user] = untilMs, false
end

local function slotsLeft (state) return math.min(n(state.slots) - n(state.held), n(state.available)) end

local function admit (state, now, read, change, leaving)
  local free = slotsLeft(state)
  if state.mode ~= 'queue' or free <= 0 or blocked(state, now) then return end
  for _, user in ipairs(read.waiting(free + 1)) do
    if user ~= leaving and free > 0 then
      free = free - 1
      admitOne(state, now, change, read, user, parse(read.member('wait ' .. user)))
    end
  end
end

-- the queue does not move before the sale opens
local function placeOf (state, position, now)
  local opensMs = math.max(0, n(state.openAt) - now)
  return { position = text(position), etaMs = text(opensMs + math.ceil(position / n(state.slots)) * n(state.turnMs)) }
end

local function noteTurn (state, now, untilMs)
  if state.mode ~= 'queue' or not untilMs then return end
  local took = now - (n(untilMs) - n(state.holdMs))
  add(state, 'turnMs', math.floor((took - n(state.turnMs)) / turnWeight))
end

function ops.join (state, args, now, read)
  local user, claim = args[2], args[3]
  if state.mode ~= 'queue' then return 'other_mode', { mode = state.mode } end
  if isEnded(state, now) then return 'closed', outcome(state) end
  local _, known = parse(read.member('wait ' .. user))
  local status = parse(read.member('claim ' .. (known or '')))
  if status == 'held' then return 'admitted', { ['until'] = read.holdUntil(known) } end
  if status == 'waiting' then return 'waiting', placeOf(state, read.position(user), now) end
  if read.member('claim ' .. claim) or n(read.member('user ' .. user) or '0') >= n(state.perUser) then
    return 'already_claimed', outcome(state, { status = status or '' })
  end
  if state.sold == state.stock then return 'sold_out', outcome(state) end
  local change, ahead = nothing(), read.waitingCount()
  add(state, 'queued', 1)
  change.members['wait ' .. user] = state.queued .. ' ' .. claim
  if ahead == 0 and slotsLeft(state) > 0 and not blocked(state, now) then
    admitOne(state, now, change, read, user, state.queued, claim)
    return 'accepted', { status = 'admitted', ['until'] = text(now + n(state.holdMs)) }, change
  end
  change.members['claim ' .. claim] = 'waiting 0 ' .. user .. ' 0'
  change.waiting[user] = state.queued
  local place = placeOf(state, ahead + 1, now)
  place.status = 'waiting'
  return 'accepted', place, change
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
    change.members['claim ' .. claim] = 'left 0 ' .. user .. ' 0'
    change.waiting[user] = false
  else
    noteTurn(state, now, read.holdUntil(claim))
    free(state, change, now, claim, status, quantity, user, since, 'released', read)
  end
  admit(state, now, read, change, user)
  return 'accepted', outcome(state), change
end

function ops.open (state, args, now, read)
  if now < n(state.openAt) then return 'not_due', outcome(state) end
  local change = nothing()
  admit(state, now, read, change)
  change.tasks = { open = false }
  return 'accepted', outcome(state), change
end
-- Claims: held, confirmed, settled by the database, released, expired.
local maxExpired = 256

local function shortage (state, read)
  if state.sold == state.stock then return 'sold_out', outcome(state) end
  if state.held == '0' then return 'insufficient', outcome(state) end
  return 'all_held', outcome(state, { nextHoldUntil = read.firstHold() or '' })
end

function ops.claim (state, args, now, read)
  local user, quantity, claim = args[2], n(args[3]), args[4]
  if state.mode ~= args[6] then return 'other_mode', { mode = state.mode } end
  local why, details = blocked(state, now)
  if why then return why, details end
  local known, units = parse(read.member('claim ' .. claim))
  local member = 'user ' .. user
  local owned = unitsOf(member, read)
  if known and not hasUnits(known) then return 'released', outcome(state) end
  if quantity > n(state.perUser) then return 'over_limit', { perUser = state.perUser } end
  if known or owned + quantity > n(state.perUser) then return 'already_claimed', outcome(state, { status = known or '', quantity = units or '' }) end
  if n(state.available) < quantity then return shortage(state, read) end
  local hold = args[7] or state.holdMs
  local status, untilMs = hold == '0' and args[5] or 'held', hold ~= '' and text(now + n(hold))
  add(state, 'available', -quantity)
  add(state, status == 'sold' and 'sold' or 'held', quantity)
  local one, ends = event(state, status, claim, user, args[3]), status == 'held' and untilMs or nil
  one['until'] = ends
  local change = {
    events = { one },
    members = { ['claim ' .. claim] = status .. ' ' .. args[3] .. ' ' .. user .. ' ' .. state.seq, [member] = text(owned + quantity) },
    holds = ends and { [claim] = ends } or nil, keepEvents = state.rememberMs and 1000 or nil
  }
  local details = {
    claim = claim, status = status, ['until'] = ends, available = state.available, held = state.held, sold = state.sold, seq = state.seq
  }
  return 'accepted', details, change
end

-- a hold becomes final, or a pending claim becomes sold
local function finish (state, args, now, read, quantity, owner, since, final)
  local change = nothing()
  if final == 'sold' then
    add(state, 'held', -n(quantity))
    add(state, 'sold', n(quantity))
  end
  noteTurn(state, now, read.holdUntil(args[3]))
  note(change, event(state, final, args[3], owner, quantity))
  change.members['claim ' .. args[3]] = final .. ' ' .. quantity .. ' ' .. owner .. ' ' .. since
  change.holds[args[3]] = final == 'sold' and rememberedUntil(state, now)
  admit(state, now, read, change)
  return 'accepted', outcome(state, { claim = args[3], status = final }), kept(state, change)
end

function ops.confirm (state, args, now, read)
  local status, quantity, owner, since = parse(read.member('claim ' .. args[3]))
  if not status or (args[2] ~= '' and owner ~= args[2]) then return 'unknown_claim', outcome(state) end
  if status == 'waiting' then return 'not_admitted', outcome(state) end
  if isSold(status) then return 'already_sold', outcome(state, { status = status }) end
  local untilMs = read.holdUntil(args[3])
  if status ~= 'held' or untilMs and now >= n(untilMs) then return 'hold_expired', outcome(state) end
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
  if args[4] and status ~= args[4] and (not status or hasUnits(status)) then return 'unknown_claim', outcome(state) end
  if not status and args[2] ~= '' and state.rememberMs then
    -- a later hold of it comes too late
    local members, holds = { ['claim ' .. args[3]] = 'released 0 ' .. args[2] .. ' 0' }, { [args[3]] = rememberedUntil(state, now) }
    return 'accepted', outcome(state), { members = members, holds = holds, quiet = true }
  end
  if not status or status == 'waiting' or (args[2] ~= '' and owner ~= args[2]) then return 'unknown_claim', outcome(state) end
  if not hasUnits(status) then return 'released', outcome(state) end
  local change = kept(state, nothing())
  change.reopens = state.sold == state.stock
  noteTurn(state, now, read.holdUntil(args[3]))
  free(state, change, now, args[3], status, quantity, owner, since, status == 'sold' and 'revoked' or 'released', read)
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end

local function expireAll (state, now, read, change, claims)
  for _, claim in ipairs(claims) do
    local status, quantity, user, since = parse(read.member('claim ' .. claim))
    if status == 'held' then
      noteTurn(state, now, read.holdUntil(claim))
      free(state, change, now, claim, status, quantity, user, since, 'expired', read)
    else
      change.members['claim ' .. claim], change.holds[claim] = false, false
      if status == 'sold' then count(change, user, -n(quantity), read) end
    end
  end
end

function ops.expire (state, args, now, read)
  local claims, change = read.holdsDue(now, maxExpired), nothing()
  if #claims == 0 then return 'not_due', outcome(state) end
  expireAll(state, now, read, change, claims)
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end
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
-- A recorded sale in another lineage: nothing is sold until its state was compared with the database.
local restoring = { create = true, restore = true, adopt = true, close = true, due = true, pause = true }
local function isRestoring (state, read) return state.lineage and state.lineage ~= read.lineage() end

local function restoreOne (state, change, now, claim, user, quantity, status, read)
  local known, ownQuantity, owner, since = parse(read.member('claim ' .. claim))
  local has = known and hasUnits(known)
  if status ~= 'sold' then
    if has then free(state, change, now, claim, known, ownQuantity, owner, since, 'revoked', read) end
    return
  end
  if known == 'sold' then return end
  if known == 'waiting' then change.waiting[owner] = false end
  local units = has and ownQuantity or quantity
  add(state, has and 'held' or 'available', -n(units))
  add(state, 'sold', n(units))
  local buyer = has and owner or user
  note(change, event(state, 'sold', claim, buyer, units))
  change.members['claim ' .. claim] = 'sold ' .. units .. ' ' .. buyer .. ' ' .. (has and since or state.seq)
  if not has then count(change, user, n(quantity), read) end
  change.holds[claim] = false
end

function ops.restore (state, args, now, read)
  if not isRestoring(state, read) then return 'unchanged', outcome(state) end
  local change = nothing()
  for i = 2, #args, 4 do restoreOne(state, change, now, args[i], args[i + 1], args[i + 2], args[i + 3], read) end
  return 'accepted', outcome(state), change
end

function ops.adopt (state, args, now, read)
  if state.lineage == read.lineage() then return 'unchanged', outcome(state) end
  local change, short = nothing(), math.max(0, -n(state.available))
  -- holds of a history that was lost may keep units that were sold in it
  expireAll(state, now, read, change, read.holdsDue('+inf', short))
  change.reopens = (state.lineage or '') ~= ''
  state.lineage = read.lineage()
  change.signals = { { type = 'restored' } }
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end

return function (state, args, now, read)
  if args[1] ~= 'create' and not state.status then return 'unknown', {} end
  if isRestoring(state, read) and not restoring[args[1]] then return 'restoring', outcome(state) end
  local code, details, change = ops[args[1]](state, args, now, read)
  -- what does not change need not be looked at
  if change and change.quiet then
    for _, part in ipairs(kinds) do
      if change[part] and not next(change[part]) then change[part] = nil end
    end
  end
  return code, details, change
end
