-- Rule bounded: units of a stock. A claim is accepted while units are available and its user is below the limit; first a hold, then sold.
-- STATE stock, available, held, sold, perUser, openAt, closeAt, holdMs, mode, slots, queued, turnMs, lineage, rememberMs, about, status (open, paused, closed), seq, version; members: `user <user>` units of the user, `claim <claim>` status quantity user and the number of its first event, `wait <user>` place claim
-- ARGS create stock perUser openAt closeAt holdMs mode slots recorded [rememberMs about]; claim user quantity claim final mode [holdMs]; confirm user claim final; settle user claim; release user claim [status]; join user claim; leave user claim; expire; open; due; restock quantity; pause; resume; close; remove; restore (claim user quantity status)...; adopt
-- CODES created, unchanged, exists, has_claims, has_holds, unknown, restoring, other_mode, not_open, closed, paused, accepted, sold_out, all_held, insufficient, over_limit, already_claimed, released, unknown_claim, not_admitted, admitted, waiting, already_sold, hold_expired, not_due
function rules.bounded ()
  local ops = {}
-- @include rules/bounded/units
-- @include rules/bounded/queue
-- @include rules/bounded/claims
-- @include rules/bounded/sale
-- @include rules/bounded/restore

  return function (state, args, now, read)
    if args[1] ~= 'create' and not state.status then return 'unknown', {} end
    if isRestoring(state, read) and not restoring[args[1]] then return 'restoring', outcome(state) end
    return ops[args[1]](state, args, now, read)
  end
end
