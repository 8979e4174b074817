/**
 * Rule `bounded`, units of a stock: lua/rules/bounded.lua.
 *
 * @typedef {import('./index.js').Fields} Fields
 */

/** These events change no more than the numbers of units. */
const UNITS = Object.freeze(['held', 'pending', 'sold', 'released', 'revoked', 'expired'])

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

/** The user of a claim. If that user has one already, it is the answer. @param {string[]} args */
export const claimantBounded = ([, user]) => user

/**
 * Whether a claim will be rejected whenever it is decided: everything is sold.
 * @param {Fields} state @param {string[]} args
 * @returns {import('./index.js').Rejection | null}
 */
export function certainBounded ({ status, stock, available, held, sold, seq }, [op]) {
  if (sold !== stock || status !== 'open' || (op !== 'claim' && op !== 'join')) return null
  return { code: 'sold_out', details: ['available', available, 'held', held, 'sold', sold, 'seq', seq] }
}
