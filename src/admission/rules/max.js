/**
 * Rule `max`, an auction: lua/rules/max.lua.
 *
 * @typedef {import('./index.js').Fields} Fields
 */

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed; its version and the maximum of its leader are not kept up to date
 * @param {Fields} event
 * @returns {boolean} false: the event does not say everything
 */
export function foldMax (state, { type, seq, user, amount, closeAt }) {
  if (type === 'open') return false
  Object.assign(state, { seq, price: amount }, user === '' ? {} : { leader: user }, closeAt === undefined ? {} : { closeAt })
  if (type === 'bid' || type === 'buy') state.bids = String(Number(state.bids) + 1)
  if (type === 'buy' || type === 'close') state.status = 'closed'
  return true
}

/**
 * Whether a bid will be rejected whenever it is decided, because prices only rise: not a bid with a maximum, which the leader may raise.
 * @param {Fields} state @param {string[]} args
 * @returns {import('./index.js').Rejection | null}
 */
export function certainMax ({ status, leader, start, price, increment, seq, closeAt }, [op, user, amount, limit]) {
  if (op !== 'bid' || limit !== '' || user === leader) return null
  const next = leader === '' ? Number(start) : Number(price) + Number(increment)
  if (status === 'open' && Number(amount) >= next) return null
  const details = ['currentBid', price, 'minNext', String(next), 'seq', seq, 'closeAt', closeAt]
  return { code: status === 'open' ? 'too_low' : 'closed', details }
}
