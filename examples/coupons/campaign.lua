-- Coupons of a campaign: its key. What is given out, and to whom, is compared in one state.
-- State: total, left, most (of a person), endsAt, ended. Members: `of ann` = how many ann has.
local ops = {}

function ops.create (state, args, now)
  local total, most, endsAt = args[2], args[3], args[4]
  if state.total then
    local isSame = state.total == total and state.most == most and state.endsAt == endsAt
    return isSame and 'unchanged' or 'exists', {}
  end
  if tonumber(endsAt) <= now then return 'ends_too_soon', {} end
  state.total, state.left, state.most, state.endsAt = total, total, most, endsAt
  return 'created', {}, { events = { { type = 'created', total = total } }, tasks = { ['end'] = tonumber(endsAt) } }
end

-- What stays true comes first: `certain` of index.js says it without the server.
function ops.claim (state, args, now, read)
  local person, number = args[2], state.total - state.left + 1
  if tonumber(state.left) == 0 then return 'none_left', {} end
  if state.ended or now >= tonumber(state.endsAt) then return 'over', {} end
  local has = tonumber(read.member('of ' .. person) or '0')
  if has >= tonumber(state.most) then return 'limit', { limit = tonumber(state.most) } end
  state.left = state.left - 1
  local event = { type = 'claimed', person = person, number = number, left = state.left }
  return 'claimed', { number = number }, { events = { event }, members = { ['of ' .. person] = has + 1 } }
end

-- the task: a due one comes back as args = { its name }
ops['end'] = function (state)
  state.ended = 1
  return 'ended', {}, { events = { { type = 'ended' } } }
end

return function (state, args, now, read)
  if args[1] ~= 'create' and not state.total then return 'no_such_campaign', {} end
  return ops[args[1]](state, args, now, read)
end
