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
