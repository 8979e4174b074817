-- A hall of seats: its key. What a rule compares must be in one state, so the limit of a person makes the hall the key, not the seat.
-- State: rows, perRow, `seat:B-7` = status and person, `of:ann` = how many seats ann has.
local HOLD_MS, MOST = 120000, 4

local function isSeat (state, seat)
  local row, number = string.match(seat or '', '^([A-Z])%-([1-9]%d?)$')
  return row and string.byte(row) - 64 <= tonumber(state.rows) and tonumber(number) <= tonumber(state.perRow)
end

local function give (state, person, more)
  local count = tonumber(state['of:' .. person] or '0') + more
  state['of:' .. person] = count > 0 and count or nil
end

local ops = {}

function ops.create (state, args)
  if state.rows then return state.rows == args[2] and state.perRow == args[3] and 'unchanged' or 'exists', {} end
  state.rows, state.perRow = args[2], args[3]
  return 'created', {}, { events = { { type = 'created', rows = args[2], perRow = args[3] } } }
end

function ops.hold (state, args, now)
  local seat, person = args[2], args[3]
  if not isSeat(state, seat) then return 'no_such_seat', { seat = seat } end
  if state['seat:' .. seat] then return 'taken', { seat = seat } end
  if tonumber(state['of:' .. person] or '0') >= MOST then return 'over_limit', { limit = MOST } end
  local untilMs = now + HOLD_MS
  state['seat:' .. seat] = 'held ' .. person
  give(state, person, 1)
  return 'held', { seat = seat, untilMs = untilMs },
    { events = { { type = 'held', seat = seat, person = person, untilMs = untilMs } }, tasks = { ['expire:' .. seat] = untilMs } }
end

function ops.confirm (state, args)
  local seat, person = args[2], args[3]
  if state['seat:' .. seat] ~= 'held ' .. person then return 'not_held', { seat = seat } end
  state['seat:' .. seat] = 'sold ' .. person
  return 'sold', { seat = seat }, { events = { { type = 'sold', seat = seat, person = person } }, tasks = { ['expire:' .. seat] = false } }
end

function ops.release (state, args)
  local seat, person = args[2], args[3]
  if state['seat:' .. seat] ~= 'held ' .. person then return 'not_held', { seat = seat } end
  state['seat:' .. seat] = nil
  give(state, person, -1)
  return 'released', { seat = seat }, { events = { { type = 'released', seat = seat, person = person } }, tasks = { ['expire:' .. seat] = false } }
end

-- a due task comes back as args = { its name }
local function expire (state, seat)
  local person = string.match(state['seat:' .. seat] or '', '^held (.+)$')
  if not person then return 'not_held', { seat = seat } end
  state['seat:' .. seat] = nil
  give(state, person, -1)
  return 'expired', { seat = seat }, { events = { { type = 'expired', seat = seat, person = person } } }
end

return function (state, args, now)
  if args[1] ~= 'create' and not state.rows then return 'no_such_hall', {} end
  local seat = string.match(args[1], '^expire:(.+)$')
  if seat then return expire(state, seat) end
  return ops[args[1]](state, args, now)
end
