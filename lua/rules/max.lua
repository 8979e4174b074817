-- Rule max: an auction. A bid is accepted when it is at least the price and the increment, between opening and closing.
-- VERSION 3
-- STATE start, increment, openAt, closeAt, lastCloseAt, softCloseMs, reserve, buyNow, currency, status (open, closed), price, leader, max, bids, seq, version
-- ARGS create start increment openAt closeAt softCloseMs softCloseMaxMs reserve buyNow currency; bid user amount max (empty = none); buy user; close; due
-- CODES created, unchanged, has_bids, invalid_times, unknown, not_open, closed, ended, accepted, too_low, self_outbid, max_raised, no_buy_now, bought, not_due
--
--   bid      max: up to it, later bids of others are answered by a higher price (proxy)
--   buy      at the price of buyNow
--   due      as close, if closeAt has passed: a scheduled task, since a soft close may have moved it
--
-- A bid near the end moves closeAt (soft close). The maximum of the leader stays in the state: no event has it.
local n = tonumber
local function text (number) return string.format('%.0f', number) end
local function isClosed (state, now) return state.status == 'closed' or now >= n(state.closeAt) end
local function nextOf (state)
  return state.leader == '' and n(state.start) or n(state.price) + n(state.increment)
end
local function event (state, type, user, amount)
  local before = state.price
  state.seq, state.price = text(n(state.seq) + 1), amount
  return { type = type, user = user, amount = amount, previous = before }
end
local function outcome (state)
  return { currentBid = state.price, minNext = text(nextOf(state)), seq = state.seq, closeAt = state.closeAt }
end
local ops = {}

function ops.create (state, args, now)
  local fields = { 'start', 'increment', 'openAt', 'closeAt', 'softCloseMs', 'lastCloseAt', 'reserve', 'buyNow', 'currency' }
  local given = { args[2], args[3], args[4], args[5], args[6], text(n(args[5]) + n(args[7])), args[8], args[9], args[10] }
  local isSame = state.status ~= nil
  for i, field in ipairs(fields) do isSame = isSame and state[field] == given[i] end
  if isSame then return 'unchanged', outcome(state) end
  if state.status and (state.bids ~= '0' or state.status == 'closed') then return 'has_bids', outcome(state) end
  if n(args[5]) <= now or n(args[5]) <= n(args[4]) then return 'invalid_times', { now = text(now) } end
  for i, field in ipairs(fields) do state[field] = given[i] end
  state.status, state.price, state.leader, state.max, state.bids = 'open', '0', '', '0', '0'
  state.seq = state.seq or '0'
  return 'created', outcome(state), { signals = { { type = 'open' } }, tasks = { due = state.closeAt } }
end

function ops.bid (state, args, now)
  local user, amount, max = args[2], args[3], args[4]
  if now < n(state.openAt) then return 'not_open', { openAt = state.openAt } end
  if isClosed(state, now) then return 'closed', outcome(state) end
  if user == state.leader then
    if max == '' or n(max) <= n(state.max) then return 'self_outbid', outcome(state) end
    state.max = max
    return 'max_raised', outcome(state), { quiet = true }
  end
  if n(amount) < nextOf(state) then return 'too_low', outcome(state) end
  local leads = state.leader == '' or n(amount) > n(state.max)
  local events = { event(state, 'bid', user, amount) }
  state.bids = text(n(state.bids) + 1)
  if leads then
    state.leader, state.max = user, max == '' and amount or max
  else
    events[2] = event(state, 'proxy', state.leader, text(math.min(n(state.max), n(amount) + n(state.increment))))
  end
  local tasks = {}
  if n(state.closeAt) - now < n(state.softCloseMs) then
    local closeAt = text(math.min(now + n(state.softCloseMs), n(state.lastCloseAt)))
    if n(closeAt) > n(state.closeAt) then
      state.closeAt = closeAt
      tasks.due, events[#events].closeAt = closeAt, closeAt
    end
  end
  local details = outcome(state)
  details.leading = leads and '1' or '0'
  return 'accepted', details, { events = events, tasks = tasks }
end

local function close (state, type, user, amount)
  local events = { event(state, type, user, amount) }
  state.status = 'closed'
  return outcome(state), { events = events, tasks = { due = false }, ends = true }
end

function ops.buy (state, args, now)
  if now < n(state.openAt) then return 'not_open', { openAt = state.openAt } end
  if isClosed(state, now) then return 'closed', outcome(state) end
  if state.buyNow == '' or n(state.price) >= n(state.buyNow) then return 'no_buy_now', outcome(state) end
  state.leader, state.bids = args[2], text(n(state.bids) + 1)
  return 'bought', close(state, 'buy', args[2], state.buyNow)
end

function ops.close (state)
  if state.status == 'closed' then return 'closed', outcome(state) end
  return 'ended', close(state, 'close', state.leader, state.price)
end

function ops.due (state, args, now)
  if state.status == 'open' and now < n(state.closeAt) then return 'not_due', outcome(state) end
  return ops.close(state)
end

return function (state, args, now)
  if args[1] ~= 'create' and not state.status then return 'unknown', {} end
  return ops[args[1]](state, args, now)
end
