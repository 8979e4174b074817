-- Rule latest: the newest price of an asset. A price is accepted when its refresh began after that of the stored one; refreshes are tasks.
-- VERSION 3
-- STATE status (open), base (tier as set), tier, pinned (0, 1), tiers (refresh, soft and hard ms of hot, medium, cold), phase, price, ts, asOf, sources, soft, hard, due, failedAt, retryAt, failures, reason, candidate, failedSources, heat, heatAt, wantedUntil, back, seq, version
-- ARGS set base pinned tiers phase; tier base pinned; price startedAt price sources asOf; fail startedAt reason candidate sources; want; force; asked requests
-- CODES created, unchanged, unknown, accepted, stale, known, failing, in_progress, too_soon
--
--   set      creates an asset, or changes it; empty = as it is, or cold and not pinned
--   tier     as set, of an asset that exists
--   price    of a refresh that began then, by the clock of the server; asOf: time of the price by its sources, from which its age and its expiries count
--   fail     of a refresh that found no price; the next attempt backs off
--   want     makes the next refresh due now: once until it ends, or for a second, and only while there is no unexpired price
--   force    as want, also while there is one, a second after the last refresh at the earliest
--   asked    requests since the last time: demand moves an asset to a higher tier
--
-- The next refresh is a scheduled task, `refresh`. It carries no command: the owner of the partition asks the sources, then sends `price` or `fail`, which schedule the next one. `phase` (0 to 999) is a function of the asset; with the sequence number it makes the jitter.
local n, names = tonumber, { 'hot', 'medium', 'cold' }
local rank = { hot = 1, medium = 2, cold = 3 }
local stepMs, maxSteps, wantMs, soonMs, longestMs = 15000, 60, 1000, 1000, 5000
-- requests in thousandths, which a rate of 1 a second, and of 6 a minute, reaches; half of it is left to stay
local heats = { 94000, 9400 }
local function text (number) return string.format('%.0f', number) end

local function ms (state, which)
  local i, at = (rank[state.tier] - 1) * 3 + which, 0
  for number in string.gmatch(state.tiers, '%d+') do
    at = at + 1
    if at == i then return n(number) end
  end
end

local function jittered (state, interval)
  return math.floor(interval * (900 + (n(state.phase) * 7 + n(state.seq) * 61) % 201) / 1000)
end

-- 0.9 to 1.1 of the interval; after the first price 0.9 to 1.8, so that assets created together are not refreshed together
local function interval (state)
  local refresh = ms(state, 1)
  if state.seq == '1' then return math.floor(refresh * (9000 + 9 * n(state.phase)) / 10000) end
  return jittered(state, refresh)
end

local function plan (state, due)
  state.due = text(due)
  return { refresh = state.due }
end

local function numbered (state, event)
  state.seq = text(n(state.seq) + 1)
  return event
end

local function cool (state, now)
  local steps, heat = math.floor((now - n(state.heatAt)) / stepMs), n(state.heat)
  if steps >= maxSteps then heat = 0 end
  for _ = 1, math.min(steps, maxSteps) do heat = math.floor(heat * 841 / 1000) end
  state.heat, state.heatAt = text(heat), text(n(state.heatAt) + steps * stepMs)
end

-- the tier as set, or a higher one by demand
local function place (state)
  local before, heat, best = state.tier, n(state.heat), rank[state.base]
  if state.pinned == '0' then
    for i = 2, 1, -1 do
      local least = rank[before] <= i and heats[i] / 2 or heats[i]
      if heat >= least then best = math.min(best, i) end
    end
  end
  state.tier = names[best]
  return state.tier ~= before
end

-- after a change of tier: an earlier refresh, if the tier is a higher one
local function moved (state, now)
  local event = numbered(state, { type = 'tier', tier = state.tier, pinned = state.pinned })
  return { events = { event }, tasks = plan(state, math.min(n(state.due), now + interval(state))), keepEvents = 1000 }
end

-- times on the server's clock; those of sources stay
local durations = { 'ts', 'due', 'failedAt', 'retryAt', 'wantedUntil' }
-- the clock may have gone back while a refresh was under way
local function past (at, now) return n(at) > now and text(now) or at end

local ops = {}

function ops.set (state, args, now)
  local base, pinned, tiers, phase = args[2], args[3], args[4], args[5]
  if state.status then
    base, pinned = base == '' and state.base or base, pinned == '' and state.pinned or pinned
    if state.base == base and state.pinned == pinned and state.tiers == tiers then return 'unchanged', { tier = state.tier, pinned = state.pinned } end
    state.base, state.pinned, state.tiers = base, pinned, tiers
    place(state)
    return 'accepted', { tier = state.tier, pinned = state.pinned }, moved(state, now)
  end
  base = base == '' and 'cold' or base
  state.status, state.base, state.tier, state.pinned, state.tiers, state.phase = 'open', base, base, pinned == '' and '0' or pinned, tiers, phase
  state.price, state.ts, state.asOf, state.sources, state.soft, state.hard = '', '0', '0', '[]', '0', '0'
  state.failedAt, state.retryAt, state.failures, state.reason, state.candidate = '0', '0', '0', '', ''
  state.heat, state.heatAt, state.wantedUntil, state.seq = '0', text(now), '0', '0'
  return 'created', { tier = base, pinned = state.pinned }, { signals = { { type = 'wanted' } }, tasks = plan(state, now) }
end

function ops.tier (state, args, now)
  return ops.set(state, { 'set', args[2], args[3], state.tiers, state.phase }, now)
end

function ops.price (state, args, now)
  local startedAt, price, sources, asOf = past(args[2], now), args[3], args[4], past(args[5], now)
  if n(startedAt) <= n(state.ts) then return 'stale', { ts = state.ts } end
  cool(state, now)
  place(state)
  state.price, state.ts, state.asOf, state.sources = price, startedAt, asOf, sources
  state.soft, state.hard = text(n(asOf) + ms(state, 2)), text(n(asOf) + ms(state, 3))
  state.failures, state.reason, state.candidate, state.retryAt, state.wantedUntil = '0', '', '', '0', '0'
  local event = numbered(state, {
    type = 'price', price = price, at = startedAt, asOf = asOf, sources = sources, soft = state.soft, hard = state.hard, tier = state.tier
  })
  return 'accepted', {}, { events = { event }, tasks = plan(state, now + interval(state)), keepEvents = 1000 }
end

function ops.fail (state, args, now)
  local startedAt, reason, candidate, sources = past(args[2], now), args[3], args[4], args[5]
  if n(startedAt) <= math.max(n(state.ts), n(state.failedAt)) then return 'stale', { ts = state.ts } end
  cool(state, now)
  place(state)
  local refresh, failures = ms(state, 1), n(state.failures)
  local wait = math.min(math.max(refresh, longestMs), math.min(refresh, soonMs) * 2 ^ math.min(failures, 6))
  state.failedAt, state.failures, state.reason, state.candidate, state.wantedUntil = startedAt, text(failures + 1), reason, candidate, '0'
  state.failedSources = sources
  local tasks = plan(state, now + jittered(state, wait))
  state.retryAt = state.due
  local event = numbered(state, {
    type = 'failed', at = startedAt, reason = reason, candidate = candidate, sources = sources, retryAt = state.retryAt, tier = state.tier
  })
  return 'accepted', {}, { events = { event }, tasks = tasks, keepEvents = 1000 }
end

local function wanted (state, now)
  state.wantedUntil = text(now + wantMs)
  return 'accepted', { seq = state.seq }, { signals = { { type = 'wanted' } }, tasks = plan(state, now) }
end

function ops.want (state, args, now)
  if now < n(state.hard) then return 'known', { seq = state.seq } end
  if now < n(state.retryAt) then return 'failing', { reason = state.reason, retryAt = state.retryAt } end
  if now < n(state.wantedUntil) then return 'in_progress', { seq = state.seq } end
  return wanted(state, now)
end

function ops.force (state, args, now)
  if now < n(state.wantedUntil) then return 'in_progress', { seq = state.seq } end
  if now - math.max(n(state.ts), n(state.failedAt)) < soonMs then return 'too_soon', { seq = state.seq } end
  return wanted(state, now)
end

function ops.asked (state, args, now)
  cool(state, now)
  state.heat = text(n(state.heat) + n(args[2]) * 1000)
  if place(state) then return 'accepted', {}, moved(state, now) end
  return 'accepted', {}, { quiet = true }
end

return function (state, args, now, read)
  if args[1] ~= 'set' and not state.status then return 'unknown', {} end
  read.turnBack(state, durations)
  return ops[args[1]](state, args, now)
end
