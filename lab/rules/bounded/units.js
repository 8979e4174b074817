/**
 * The units of a sale: how a command changes their numbers, and the event that says so.
 *
 * @typedef {import('../index.js').Fields} Fields
 * @typedef {import('../index.js').Read} Read
 * @typedef {Required<Pick<import('../index.js').Change, 'events' | 'members' | 'units' | 'holds' | 'waiting'>>} Change
 */

/** @param {Fields} state @param {string} field @param {number} more */
export const add = (state, field, more) => { state[field] = String(Number(state[field]) + more) }

/** @param {Fields} state @returns {string[]} */
export const detailsOf = ({ available, held, sold, seq }) => ['available', available, 'held', held, 'sold', sold, 'seq', seq]

/** @returns {Change} */
export const nothing = () => ({ events: [], members: [], units: [], holds: [], waiting: [] })

/** @param {Fields} state @param {string} type @param {string} claim @param {string} user @param {string} quantity */
export function eventOf (state, type, claim, user, quantity) {
  add(state, 'seq', 1)
  return ['seq', state.seq, 'type', type, 'claim', claim, 'user', user, 'quantity', quantity,
    'available', state.available, 'held', state.held, 'sold', state.sold]
}

/** @param {string | null} member @returns {(string | undefined)[]} status, quantity, user */
export const parsed = (member) => member?.split(' ') ?? []

/** Whether a claim with this status has units. @param {string} status */
export const hasUnits = (status) => ['held', 'pending', 'sold'].includes(status)

/** @param {Fields} state @param {number} now */
export const isEnded = ({ status, closeAt }, now) => status === 'closed' || now >= Number(closeAt)

/** Why nothing can be claimed now. @param {Fields} state @param {number} now @returns {import('../index.js').Outcome | null} */
export function blocked (state, now) {
  if (now < Number(state.openAt)) return { code: 'not_open', details: ['openAt', state.openAt] }
  if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
  return state.status === 'paused' ? { code: 'paused', details: detailsOf(state) } : null
}

/**
 * Returns the units of a claim to the stock.
 * @param {Fields} state @param {Change} change @param {{ claim: string, status: string, quantity: string, user: string, since: string,
 *   type: string, now: number }} claimed `since`: the sequence number of its first event
 */
export function free (state, change, { claim, status, quantity, user, since, type, now }) {
  add(state, status === 'sold' ? 'sold' : 'held', -Number(quantity))
  add(state, 'available', Number(quantity))
  change.events.push(eventOf(state, type, claim, user, quantity))
  change.members.push([`claim ${claim}`, `${type} ${quantity} ${user} ${since}`])
  change.units.push([user, -Number(quantity)])
  change.holds.push([claim, rememberedUntil(state, now)])
}

/** When a claim without units, or a sold one, is forgotten. @param {Fields} state @param {number} now @returns {string | null} never */
export const rememberedUntil = ({ rememberMs }, now) => rememberMs === undefined ? null : String(now + Number(rememberMs))
