/**
 * Rule `bounded`, units of a stock: the same as lua/rules/bounded.lua, as a pure function.
 *
 *     create    stock perUser openAt closeAt holdMs
 *     claim     user quantity claim      a hold, or sold at once if holdMs is 0
 *     confirm   user claim               a hold becomes sold
 *     release   user claim               a hold, or a sold claim; a claim that is unknown can never be made then
 *     expire                             the earliest hold, if it is due: a scheduled task
 *     restock   quantity
 *     close
 *
 * available + held + sold = stock, always. A claim that was released or has expired keeps its member, so that it is not made twice.
 *
 * @typedef {import('./index.js').Fields} Fields
 * @typedef {import('./index.js').Rule} Rule
 * @typedef {import('./index.js').Read} Read
 */

const TERMS = Object.freeze(['stock', 'perUser', 'openAt', 'closeAt', 'holdMs'])

/** @param {Fields} state @param {string} field @param {number} more */
const add = (state, field, more) => { state[field] = String(Number(state[field]) + more) }

/** @param {Fields} state @returns {string[]} */
const detailsOf = ({ available, held, sold, seq }) => ['available', available, 'held', held, 'sold', sold, 'seq', seq]

/** @param {Fields} state @param {string} type @param {string} claim @param {string} user @param {string} quantity */
function eventOf (state, type, claim, user, quantity) {
  add(state, 'seq', 1)
  return ['seq', state.seq, 'type', type, 'claim', claim, 'user', user, 'quantity', quantity, 'available', state.available]
}

/** @param {string | null} member @returns {(string | undefined)[]} status, quantity, user */
const parsed = (member) => member?.split(' ') ?? []

/** @param {Fields} state @param {number} now */
const isEnded = ({ status, closeAt }, now) => status === 'closed' || now >= Number(closeAt)

/**
 * Returns the units of a claim to the stock.
 * @param {Fields} state @param {{ claim: string, status: string, quantity: string, user: string, type: string }} claimed @param {Read} read
 * @returns {import('./index.js').Change}
 */
function free (state, { claim, status, quantity, user, type }, read) {
  const reopens = state.sold === state.stock
  add(state, status, -Number(quantity))
  add(state, 'available', Number(quantity))
  const owned = Number(read.member(`user ${user}`)) - Number(quantity)
  return {
    events: [eventOf(state, type, claim, user, quantity)],
    members: [[`user ${user}`, owned > 0 ? String(owned) : null], [`claim ${claim}`, `${type} ${quantity} ${user}`]],
    holds: [[claim, null]],
    reopens
  }
}

/** @type {Record<string, Rule>} */
const OPS = {
  create (state, [, ...terms]) {
    if (state.status !== undefined && TERMS.every((term, i) => state[term] === terms[i])) {
      return { code: 'unchanged', details: detailsOf(state) }
    }
    if (state.status !== undefined && (state.available !== state.stock || state.status === 'closed')) {
      return { code: 'has_claims', details: detailsOf(state) }
    }
    TERMS.forEach((term, i) => { state[term] = terms[i] })
    Object.assign(state, { status: 'open', available: state.stock, held: '0', sold: '0', seq: state.seq ?? '0' })
    return { code: 'created', details: detailsOf(state), change: { events: [['seq', '0', 'type', 'open']] } }
  },

  claim (state, [, user, quantity, claim], now, read) {
    if (now < Number(state.openAt)) return { code: 'not_open', details: ['openAt', state.openAt] }
    if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
    const [known] = parsed(read.member(`claim ${claim}`))
    const owned = Number(read.member(`user ${user}`) ?? '0')
    if (known === 'released') return { code: 'released', details: detailsOf(state) }
    if (known !== undefined || owned + Number(quantity) > Number(state.perUser)) {
      return { code: 'already_claimed', details: detailsOf(state) }
    }
    if (Number(state.available) < Number(quantity)) return shortage(state, read)
    const status = state.holdMs === '0' ? 'sold' : 'held'
    const holdUntil = String(now + Number(state.holdMs))
    add(state, 'available', -Number(quantity))
    add(state, status, Number(quantity))
    return {
      code: 'accepted',
      change: {
        events: [eventOf(state, status, claim, user, quantity)],
        members: [[`user ${user}`, String(owned + Number(quantity))], [`claim ${claim}`, `${status} ${quantity} ${user}`]],
        holds: status === 'held' ? [[claim, holdUntil]] : []
      },
      details: [...detailsOf(state), 'status', status, ...status === 'held' ? ['holdUntil', holdUntil] : []]
    }
  },

  confirm (state, [, user, claim], now, read) {
    const [status, quantity = '', owner] = parsed(read.member(`claim ${claim}`))
    if (status === undefined || owner !== user) return { code: 'unknown_claim', details: detailsOf(state) }
    if (status === 'sold') return { code: 'already_sold', details: detailsOf(state) }
    if (status !== 'held' || now >= Number(read.holdUntil(claim))) return { code: 'hold_expired', details: detailsOf(state) }
    add(state, 'held', -Number(quantity))
    add(state, 'sold', Number(quantity))
    const events = [eventOf(state, 'sold', claim, user, quantity)]
    return {
      code: 'accepted',
      details: detailsOf(state),
      change: { events, members: [[`claim ${claim}`, `sold ${quantity} ${user}`]], holds: [[claim, null]] }
    }
  },

  release (state, [, user, claim], now, read) {
    const [status, quantity = '', owner] = parsed(read.member(`claim ${claim}`))
    if (status === undefined) {
      return { code: 'accepted', details: detailsOf(state), change: { events: [], members: [[`claim ${claim}`, `released 0 ${user}`]] } }
    }
    if (owner !== user) return { code: 'unknown_claim', details: detailsOf(state) }
    if (!['held', 'sold'].includes(status)) return { code: 'released', details: detailsOf(state) }
    const change = free(state, { claim, status, quantity, user, type: 'released' }, read)
    return { code: 'accepted', details: detailsOf(state), change }
  },

  expire (state, args, now, read) {
    const claim = read.holdDue(now)
    if (claim === null) return { code: 'not_due', details: detailsOf(state) }
    const [status = '', quantity = '', user = ''] = parsed(read.member(`claim ${claim}`))
    const change = free(state, { claim, status, quantity, user, type: 'expired' }, read)
    return { code: 'accepted', details: detailsOf(state), change }
  },

  restock (state, [, quantity]) {
    const reopens = state.sold === state.stock
    add(state, 'stock', Number(quantity))
    add(state, 'available', Number(quantity))
    const events = [eventOf(state, 'restocked', '', '', quantity)]
    return { code: 'accepted', details: detailsOf(state), change: { events, reopens } }
  },

  close (state) {
    if (state.status === 'closed') return { code: 'closed', details: detailsOf(state) }
    state.status = 'closed'
    const events = [eventOf(state, 'closed', '', '', '0')]
    return { code: 'accepted', details: detailsOf(state), change: { events } }
  }
}

/** Why too few units are available. @param {Fields} state @param {Read} read @returns {import('./index.js').Outcome} */
function shortage (state, read) {
  if (state.sold === state.stock) return { code: 'sold_out', details: detailsOf(state) }
  if (state.held === '0') return { code: 'insufficient', details: detailsOf(state) }
  return { code: 'all_held', details: [...detailsOf(state), 'nextHoldUntil', String(read.firstHold())] }
}

/** @type {Rule} */
export const bounded = (state, args, now, read) =>
  args[0] !== 'create' && state.status === undefined ? { code: 'unknown', details: [] } : OPS[args[0]](state, args, now, read)
