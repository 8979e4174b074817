/**
 * A recorded sale in another lineage: nothing is sold until its state was compared with the database.
 *
 * @typedef {import('../index.js').Fields} Fields
 * @typedef {import('../index.js').Rule} Rule
 * @typedef {import('../index.js').Read} Read
 * @typedef {import('./units.js').Change} Change
 */
import { expireAll } from './claims.js'
import { admit } from './queue.js'
import { add, detailsOf, eventOf, free, hasUnits, nothing, parsed } from './units.js'

/** what is decided while a sale is restored */
export const RESTORING = Object.freeze(['create', 'restore', 'adopt', 'close', 'due', 'pause'])

/** @param {Fields} state @param {Read} read */
export const isRestoring = ({ lineage }, read) => lineage !== undefined && lineage !== read.lineage()

/**
 * A claim as the database has it.
 * @param {Fields} state @param {Change} change @param {string[]} row @param {number} now @param {Read} read
 */
function restoreOne (state, change, [claim, user, quantity, status], now, read) {
  const [known = '', ownQuantity = '', owner = '', since = ''] = parsed(read.member(`claim ${claim}`))
  const has = hasUnits(known)
  if (status !== 'sold') {
    if (has) free(state, change, { claim, status: known, quantity: ownQuantity, user: owner, since, type: 'revoked', now })
    return
  }
  if (known === 'sold') return
  if (known === 'waiting') change.waiting.push([owner, null])
  const units = has ? ownQuantity : quantity
  add(state, has ? 'held' : 'available', -Number(units))
  add(state, 'sold', Number(units))
  const buyer = has ? owner : user
  change.events.push(eventOf(state, 'sold', claim, buyer, units))
  change.members.push([`claim ${claim}`, `sold ${units} ${buyer} ${has ? since : state.seq}`])
  if (!has) change.units.push([user, Number(quantity)])
  change.holds.push([claim, null])
}

/** @type {Record<string, Rule>} */
export const RESTORE_OPS = {
  restore (state, [, ...rows], now, read) {
    if (!isRestoring(state, read)) return { code: 'unchanged', details: detailsOf(state) }
    const change = nothing()
    for (let i = 0; i < rows.length; i += 4) restoreOne(state, change, rows.slice(i, i + 4), now, read)
    return { code: 'accepted', details: detailsOf(state), change }
  },

  adopt (state, args, now, read) {
    if (state.lineage === read.lineage()) return { code: 'unchanged', details: detailsOf(state) }
    const change = nothing()
    // holds of a history that was lost may keep units that were sold in it
    const short = Math.max(0, -Number(state.available))
    expireAll(state, now, read, change, read.holdsDue(Infinity, short))
    const reopens = (state.lineage ?? '') !== ''
    state.lineage = read.lineage()
    change.events.push(['seq', '0', 'type', 'restored'])
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...change, reopens } }
  }
}
