-- Rule once: something that is created once, such as a customer.
-- VERSION 3
-- STATE status (open), about, seq, version
-- ARGS create about
-- CODES created, exists
local ops = {}

function ops.create (state, args)
  if state.status then return 'exists', {} end
  state.status, state.about, state.seq = 'open', args[2], '1'
  -- a stream of one event takes 4 KiB, and its state says as much
  return 'created', {}, { events = { { type = 'created', about = args[2] } }, keepEvents = 0 }
end

return function (state, args) return ops[args[1]](state, args) end
