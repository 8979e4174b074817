/**
 * Rule `bounded`, units of a stock: the same as lua/rules/bounded.lua, as a pure function, in files by subject as there: sale,
 * claims, queue, restore.
 *
 *     create    stock perUser openAt closeAt holdMs mode slots recorded [rememberMs about]
 *     claim     user quantity claim final mode [holdMs]   a hold, or final at once if holdMs is 0; `final`: sold, or pending; an empty
 *                                      holdMs is a hold without end
 *     confirm   user claim final       a hold becomes final; an empty user is any user
 *     settle    user claim             a pending claim becomes sold: the database has it
 *     release   user claim [status]    a hold, or a final claim, only if it has this status, or no units left; of a stock with
 *                                      `rememberMs` an unknown claim, which can then never be made
 *     join      user claim             the waiting room; `slots` people at a time are admitted, each with a hold
 *     leave     user claim             the waiting room, or an admission
 *     expire, open, due                scheduled tasks: holds that are due, the time of opening, the time of closing
 *     restock   quantity
 *     pause, resume, close
 *     remove                           as close, but not while units are held
 *     restore   (claim user quantity status)...   claims that the database has; until `adopt` nothing is sold
 *     adopt                            the state agrees with the database
 *
 * available + held + sold = stock, always; pending claims are held. A claim that was released or has expired keeps its member, so that it
 * is not made twice. Admission from the waiting room is part of the command that frees a slot, so no slot waits for a timer.
 *
 * A stock with `rememberMs`, such as a product, can be created again after `remove` or `close`; its event numbers continue. It
 * forgets a claim that long after it was sold or released; until then the claim cannot be made again. `about` is a text that comes back in
 * its state.
 *
 * A recorded sale belongs to a lineage. In another one its state may be an older copy, so it sells again only after `restore` and `adopt`.
 *
 * @typedef {import('../index.js').Fields} Fields
 * @typedef {import('../index.js').Rule} Rule
 */
import { CLAIM_OPS } from './claims.js'
import { QUEUE_OPS } from './queue.js'
import { isRestoring, RESTORE_OPS, RESTORING } from './restore.js'
import { SALE_OPS } from './sale.js'
import { detailsOf } from './units.js'

const OPS = { ...SALE_OPS, ...CLAIM_OPS, ...QUEUE_OPS, ...RESTORE_OPS }

/** @type {Rule} */
export function bounded (state, args, now, read) {
  if (args[0] !== 'create' && state.status === undefined) return { code: 'unknown', details: [] }
  if (isRestoring(state, read) && !RESTORING.includes(args[0])) return { code: 'restoring', details: detailsOf(state) }
  return OPS[args[0]](state, args, now, read)
}

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed; its version is not kept up to date
 * @param {Fields} event
 * @returns {boolean} false: the event does not say everything
 */
export function foldBounded (state, { type, seq, available, held, sold }) {
  if (!UNITS.includes(type)) return false
  Object.assign(state, { seq, available, held, sold })
  return true
}
/** events that change no more than the numbers of units */
const UNITS = Object.freeze(['held', 'pending', 'sold', 'released', 'revoked', 'expired'])

/**
 * Whether a claim will be rejected whenever it is decided: everything is sold.
 * @param {Fields} state @param {string[]} args
 * @returns {import('../index.js').Outcome | null} the rejection
 */
export function certainBounded (state, [op]) {
  const isSoldOut = state.sold === state.stock && state.status === 'open'
  return isSoldOut && (op === 'claim' || op === 'join') ? { code: 'sold_out', details: detailsOf(state) } : null
}
