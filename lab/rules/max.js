/**
 * Rule `max`: the same as lua/rules/max.lua.
 *
 * @typedef {import('./index.js').Fields} Fields
 * @typedef {import('./index.js').Rule} Rule
 */

const TERMS = Object.freeze(['start', 'increment', 'openAt', 'closeAt', 'softCloseMs', 'lastCloseAt', 'reserve', 'buyNow', 'currency'])

/** @param {Fields} state @param {number} now */
const isClosed = ({ status, closeAt }, now) => status === 'closed' || now >= Number(closeAt)

/** The least amount of the next bid. @param {Fields} state */
const nextOf = ({ leader, start, price, increment }) => leader === '' ? Number(start) : Number(price) + Number(increment)

/** @param {Fields} state @returns {string[]} */
const detailsOf = (state) =>
  ['currentBid', state.price, 'minNext', String(nextOf(state)), 'seq', state.seq, 'closeAt', state.closeAt]

/** Changes price and sequence number. @param {Fields} state @param {string} type @param {string} user @param {string} amount */
function eventOf (state, type, user, amount) {
  const previous = state.price
  state.seq = String(Number(state.seq) + 1)
  state.price = amount
  return ['seq', state.seq, 'type', type, 'user', user, 'amount', amount, 'previous', previous]
}

/**
 * @param {Fields} state @param {string} type @param {string} user @param {string} amount
 * @returns {{ details: string[], change: import('./index.js').Change }}
 */
function close (state, type, user, amount) {
  const events = [eventOf(state, type, user, amount)]
  state.status = 'closed'
  return { details: detailsOf(state), change: { events, tasks: [['due', null]], ends: true } }
}

/** @type {Record<string, Rule>} */
const OPS = {
  create (state, [, start, increment, openAt, closeAt, softCloseMs, softCloseMaxMs, reserve, buyNow, currency], now) {
    const lastCloseAt = String(Number(closeAt) + Number(softCloseMaxMs))
    const given = /** @type {Fields} */ ({ start, increment, openAt, closeAt, softCloseMs, lastCloseAt, reserve, buyNow, currency })
    if (state.status !== undefined && TERMS.every((term) => state[term] === given[term])) {
      return { code: 'unchanged', details: detailsOf(state) }
    }
    if (state.status !== undefined && (state.bids !== '0' || state.status === 'closed')) {
      return { code: 'has_bids', details: detailsOf(state) }
    }
    if (Number(closeAt) <= now || Number(closeAt) <= Number(openAt)) return { code: 'invalid_times', details: ['now', String(now)] }
    Object.assign(state, given, { status: 'open', price: '0', leader: '', max: '0', bids: '0', seq: state.seq ?? '0' })
    const change = { events: [['seq', '0', 'type', 'open']], tasks: /** @type {[string, string][]} */ ([['due', state.closeAt]]) }
    return { code: 'created', details: detailsOf(state), change }
  },

  bid (state, [, user, amount, max], now) {
    if (now < Number(state.openAt)) return { code: 'not_open', details: ['openAt', state.openAt] }
    if (isClosed(state, now)) return { code: 'closed', details: detailsOf(state) }
    if (user === state.leader) {
      if (max === '' || Number(max) <= Number(state.max)) return { code: 'self_outbid', details: detailsOf(state) }
      state.max = max
      return { code: 'max_raised', details: detailsOf(state), change: { events: [], tasks: [] } }
    }
    if (Number(amount) < nextOf(state)) return { code: 'too_low', details: detailsOf(state) }
    const leads = state.leader === '' || Number(amount) > Number(state.max)
    const events = [eventOf(state, 'bid', user, amount)]
    state.bids = String(Number(state.bids) + 1)
    if (leads) Object.assign(state, { leader: user, max: max === '' ? amount : max })
    else events.push(eventOf(state, 'proxy', state.leader, String(Math.min(Number(state.max), Number(amount) + Number(state.increment)))))
    const tasks = softClose(state, now)
    if (tasks.length > 0) events.at(-1)?.push('closeAt', state.closeAt)
    return { code: 'accepted', details: [...detailsOf(state), 'leading', leads ? '1' : '0'], change: { events, tasks } }
  },

  buy (state, [, user], now) {
    if (now < Number(state.openAt)) return { code: 'not_open', details: ['openAt', state.openAt] }
    if (isClosed(state, now)) return { code: 'closed', details: detailsOf(state) }
    if (state.buyNow === '' || Number(state.price) >= Number(state.buyNow)) return { code: 'no_buy_now', details: detailsOf(state) }
    Object.assign(state, { leader: user, bids: String(Number(state.bids) + 1) })
    return { code: 'bought', ...close(state, 'buy', user, state.buyNow) }
  },

  close (state) {
    if (state.status === 'closed') return { code: 'closed', details: detailsOf(state) }
    return { code: 'ended', ...close(state, 'close', state.leader, state.price) }
  },

  due (state, args, now) {
    if (state.status === 'open' && now < Number(state.closeAt)) return { code: 'not_due', details: detailsOf(state) }
    return OPS.close(state, args, now)
  }
}

/** Moves the end of an auction, within its bound. @param {Fields} state @param {number} now @returns {[string, string][]} tasks */
function softClose (state, now) {
  if (Number(state.closeAt) - now >= Number(state.softCloseMs)) return []
  const closeAt = Math.min(now + Number(state.softCloseMs), Number(state.lastCloseAt))
  if (closeAt <= Number(state.closeAt)) return []
  state.closeAt = String(closeAt)
  return [['due', state.closeAt]]
}

/** @type {Rule} */
export const max = (state, args, now) =>
  args[0] !== 'create' && state.status === undefined ? { code: 'unknown', details: [] } : OPS[args[0]](state, args, now)
