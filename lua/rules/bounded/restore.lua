-- A recorded sale in another lineage: nothing is sold until its state was compared with the database.
local restoring = { create = true, restore = true, adopt = true, close = true, due = true, pause = true }
local function isRestoring (state, read) return state.lineage and state.lineage ~= read.lineage() end

local function restoreOne (state, change, now, claim, user, quantity, status, read)
  local known, ownQuantity, owner, since = parse(read.member('claim ' .. claim))
  local has = known and hasUnits(known)
  if status ~= 'sold' then
    if has then free(state, change, now, claim, known, ownQuantity, owner, since, 'revoked', read) end
    return
  end
  if known == 'sold' then return end
  if known == 'waiting' then change.waiting[owner] = false end
  local units = has and ownQuantity or quantity
  add(state, has and 'held' or 'available', -n(units))
  add(state, 'sold', n(units))
  local buyer = has and owner or user
  note(change, event(state, 'sold', claim, buyer, units))
  change.members['claim ' .. claim] = 'sold ' .. units .. ' ' .. buyer .. ' ' .. (has and since or state.seq)
  if not has then count(change, user, n(quantity), read) end
  change.holds[claim] = false
end

function ops.restore (state, args, now, read)
  if not isRestoring(state, read) then return 'unchanged', outcome(state) end
  local change = nothing()
  for i = 2, #args, 4 do restoreOne(state, change, now, args[i], args[i + 1], args[i + 2], args[i + 3], read) end
  return 'accepted', outcome(state), change
end

function ops.adopt (state, args, now, read)
  if state.lineage == read.lineage() then return 'unchanged', outcome(state) end
  local change, short = nothing(), math.max(0, -n(state.available))
  -- holds of a history that was lost may keep units that were sold in it
  expireAll(state, now, read, change, read.holdsDue('+inf', short))
  change.reopens = (state.lineage or '') ~= ''
  state.lineage = read.lineage()
  change.signals = { { type = 'restored' } }
  admit(state, now, read, change)
  return 'accepted', outcome(state), change
end
