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
