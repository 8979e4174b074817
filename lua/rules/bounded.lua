-- Rule bounded: units of a stock. A claim is accepted while units are available and its user is below the limit; first a hold, then sold.
-- VERSION 4
-- STATE stock, available, held, sold, perUser, openAt, closeAt, holdMs, mode, slots, queued, turnMs, lineage, rememberMs, about, status (open, paused, closed), seq, version; members: `user <user>` units of the user, `claim <claim>` status quantity user and the number of its first event, `wait <user>` place claim
-- ARGS create stock perUser openAt closeAt holdMs mode slots recorded [rememberMs about]; claim user quantity claim final mode [holdMs]; confirm user claim final; settle user claim; release user claim [status]; join user claim; leave user claim; expire; open; due; restock quantity; pause; resume; close; remove; restore (claim user quantity status)...; adopt
-- CODES created, unchanged, exists, has_claims, has_holds, unknown, restoring, other_mode, not_open, closed, paused, accepted, sold_out, all_held, insufficient, over_limit, already_claimed, released, unknown_claim, not_admitted, admitted, waiting, already_sold, hold_expired, not_due
--
--   claim      a hold, or final at once if holdMs is 0; `final`: sold, or pending; an empty holdMs is a hold without end
--   confirm    a hold becomes final; an empty user is any user
--   settle     a pending claim becomes sold: the database has it
--   release    a hold, or a final claim, only if it has this status, or no units left; of a stock with rememberMs also an unknown claim, which can then never be made
--   join       the waiting room; `slots` people at a time are admitted, each with a hold
--   leave      the waiting room, or an admission
--   expire, open, due   scheduled tasks: holds that are due, the time of opening, the time of closing
--   remove     as close, but not while units are held
--   restore    claims that the database has; nothing is sold until `adopt`: the state agrees with the database
--
-- available + held + sold = stock, always; pending claims are held. A claim that was released or has expired keeps its member, so that it is not made twice. Admission from the waiting room is part of the command that frees a slot, so no slot waits for a timer.
-- A stock with rememberMs, such as a product, can be created again after `remove` or `close`; its event numbers continue. It forgets a claim that long after it was sold or released; until then the claim cannot be made again. `about` is a text that comes back in its state.
-- A recorded sale belongs to a lineage. In another one its state may be an older copy, so it sells again only after `restore` and `adopt`.
local ops, kinds = {}, { 'members', 'holds', 'waiting' }
-- @include rules/bounded/units
-- @include rules/bounded/queue
-- @include rules/bounded/claims
-- @include rules/bounded/sale
-- @include rules/bounded/restore

return function (state, args, now, read)
  if args[1] ~= 'create' and not state.status then return 'unknown', {} end
  if isRestoring(state, read) and not restoring[args[1]] then return 'restoring', outcome(state) end
  local code, details, change = ops[args[1]](state, args, now, read)
  -- what does not change need not be looked at
  if change and change.quiet then
    for _, part in ipairs(kinds) do
      if change[part] and not next(change[part]) then change[part] = nil end
    end
  end
  return code, details, change
end
