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
