-- Rule step: an order, driven by the owner of its partition. A step is accepted from certain statuses only.
-- VERSION 4
-- STATE status (placed, held, capturing, captured, confirmed, cancelling, cancelled), customer, total, lines, address, deadline, correlation, placedAt, reason, parked, wasHeld, authorization, back, seq, version
-- ARGS place customer total lines address deadlineMs correlation; held; capture_requested authorization; captured; confirmed; declined reason; cancel_requested; deadline; cancelled; check; checked; park reason; resume
-- CODES created, exists, other_body, unknown, accepted, illegal, late, not_due
--
--   placed ── held ──▶ capturing ──▶ captured ──▶ confirmed
--      │        │          │
--      └────────┴──────────┴──▶ cancelling ──▶ cancelled
--
--   held               every line is held
--   capture_requested  from here on only a definite refusal of the payment cancels the order
--   declined           no stock, or payment refused
--   cancel_requested   the customer wants it
--   deadline           a scheduled task
--   cancelled          everything is undone
--   check              news of the payment: the owner looks again, at a parked or cancelled order; checked: it did
--   park               the owner gives up, until `resume`
--
-- The owner of the partition drives an order, woken by its scheduled task `run`, which is due from `place` to the last step; so another owner continues where a killed one was. A step that comes late or twice is rejected, and the decision says where the order is.
local n = tonumber
local function text (number) return string.format('%.0f', number) end
local steps = {}
steps.held = { from = { placed = true }, to = 'held' }
steps.capture_requested = { from = { held = true }, to = 'capturing' }
steps.captured = { from = { capturing = true }, to = 'captured' }
steps.confirmed = { from = { captured = true }, to = 'confirmed' }
steps.declined = { from = { placed = true, held = true, capturing = true }, to = 'cancelling' }
steps.cancel_requested = { from = { placed = true, held = true }, to = 'cancelling' }
steps.deadline = { from = { placed = true, held = true }, to = 'cancelling' }
steps.cancelled = { from = { cancelling = true }, to = 'cancelled' }
local final = { confirmed = true, cancelled = true }

local function outcome (state) return { status = state.status, reason = state.reason, deadline = state.deadline } end
local function event (state, type, more)
  state.seq = text(n(state.seq) + 1)
  local made = more or {}
  made.type, made.status, made.reason = type, state.status, state.reason
  return made
end
local function accepted (state, change) return 'accepted', outcome(state), change end
local ops = {}

function ops.place (state, args, now)
  if state.status then
    local isSame = state.customer == args[2] and state.total == args[3] and state.lines == args[4] and state.address == args[5]
    if isSame then return 'exists', outcome(state) end
    return 'other_body', outcome(state)
  end
  state.status, state.customer, state.total, state.lines, state.address = 'placed', args[2], args[3], args[4], args[5]
  state.deadline, state.correlation, state.authorization, state.placedAt = text(now + n(args[6])), args[7], '', text(now)
  state.reason, state.parked, state.wasHeld, state.seq = '', '', '', state.seq or '0'
  local facts = { customer = args[2], total = args[3], lines = args[4], address = args[5], deadline = state.deadline, correlation = args[7] }
  local placed = event(state, 'placed', facts)
  return 'created', outcome(state), { events = { placed }, tasks = { run = text(now), deadline = state.deadline } }
end

-- the owner looks at once; a confirmed order has its payment, and one that is being driven is looked at anyway
function ops.check (state, args, now)
  if state.parked == '' and state.status ~= 'cancelled' then return 'illegal', outcome(state) end
  return accepted(state, { signals = { { type = 'wanted' } }, tasks = { run = text(now) } })
end

function ops.checked (state)
  if not final[state.status] then return 'illegal', outcome(state) end
  return accepted(state, { quiet = true, tasks = { run = false } })
end

function ops.park (state, args)
  if final[state.status] then return 'illegal', outcome(state) end
  state.parked = args[2]
  return accepted(state, { events = { event(state, 'parked', { parked = args[2] }) }, tasks = { run = false } })
end

function ops.resume (state, args, now)
  if state.parked == '' then return 'illegal', outcome(state) end
  state.parked = ''
  return accepted(state, { events = { event(state, 'resumed', { parked = '' }) }, tasks = { run = text(now) } })
end

-- given by the time of the command
local durations = { 'deadline' }

local function take (state, args, now)
  local op, step = args[1], steps[args[1]]
  if not step.from[state.status] then return 'illegal', outcome(state) end
  if op == 'deadline' and now < n(state.deadline) then return 'not_due', outcome(state) end
  if op == 'capture_requested' and now >= n(state.deadline) then return 'late', outcome(state) end
  state.status, state.parked = step.to, ''
  if step.to == 'held' then state.wasHeld = '1' end
  if step.to == 'capturing' then state.authorization = args[2] or '' end
  if step.to == 'cancelling' then state.reason = args[2] or op end
  local isFinal = final[step.to]
  local tasks = { run = not isFinal and text(now) }
  if isFinal or step.to == 'capturing' or step.to == 'cancelling' then tasks.deadline = false end
  return accepted(state, { events = { event(state, op) }, tasks = tasks, ends = isFinal })
end

return function (state, args, now, read)
  if args[1] ~= 'place' and not state.status then return 'unknown', {} end
  read.turnBack(state, durations)
  return (ops[args[1]] or take)(state, args, now)
end
