-- The units of a sale: how a command changes their numbers, and the event of it.
local n = tonumber
local function text (number) return string.format('%.0f', number) end
local function add (state, field, more) state[field] = text(n(state[field]) + more) end
local function outcome (state, more)
  local made = more or {}
  made.available, made.held, made.sold, made.seq = state.available, state.held, state.sold, state.seq
  return made
end
local function nothing () return { events = {}, members = {}, units = {}, holds = {}, waiting = {} } end
local function event (state, type, claim, user, quantity)
  add(state, 'seq', 1)
  return outcome(state, { type = type, claim = claim, user = user, quantity = quantity })
end
local function note (change, event) change.events[#change.events + 1] = event end
local function count (change, user, more) change.units[user] = (change.units[user] or 0) + more end
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
  change.keeps = state.rememberMs and 1000
  return change
end

local function free (state, change, now, claim, status, quantity, user, since, type)
  add(state, status == 'sold' and 'sold' or 'held', -n(quantity))
  add(state, 'available', n(quantity))
  note(change, event(state, type, claim, user, quantity))
  change.members['claim ' .. claim] = type .. ' ' .. quantity .. ' ' .. user .. ' ' .. since
  count(change, user, -n(quantity))
  change.holds[claim] = rememberedUntil(state, now)
end
