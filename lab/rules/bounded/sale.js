/**
 * The sale itself: its terms, its stock, and whether it is open.
 *
 * @typedef {import('../index.js').Fields} Fields
 * @typedef {import('../index.js').Rule} Rule
 * @typedef {import('../index.js').Read} Read
 */
import { admit } from './queue.js'
import { add, detailsOf, eventOf, isEnded, nothing } from './units.js'

const TERMS = Object.freeze(['stock', 'perUser', 'openAt', 'closeAt', 'holdMs', 'mode', 'slots'])
/** of a stock that forgets claims */
const OF_PRODUCT = Object.freeze(['rememberMs', 'about'])
/**
 * @param {Fields} state @param {number} now @param {Read} read @param {string} status @param {string} type of the event
 * @returns {import('../index.js').Outcome}
 */
function turnTo (state, now, read, status, type) {
  if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
  if (state.status === status) return { code: 'unchanged', details: detailsOf(state) }
  state.status = status
  const change = nothing()
  change.events.push(eventOf(state, type, '', '', '0'))
  admit(state, now, read, change, '')
  return { code: 'accepted', details: detailsOf(state), change }
}

/** @param {Fields} state @returns {import('../index.js').Outcome} */
function finishSale (state) {
  state.status = 'closed'
  const events = [eventOf(state, 'closed', '', '', '0')]
  const ends = state.rememberMs === undefined
  return { code: 'accepted', details: detailsOf(state), change: { events, tasks: [['due', null], ['open', null]], ends } }
}

/** @type {Record<string, Rule>} */
export const SALE_OPS = {
  create (state, [, ...terms], now) {
    const more = terms.slice(TERMS.length + 1)
    const isProduct = more.length > 0
    const isAgain = isProduct && state.status === 'closed'
    if (state.status === 'open' && isProduct) return { code: 'exists', details: detailsOf(state) }
    const isSale = !isProduct && state.status !== undefined
    if (isSale && TERMS.every((term, i) => state[term] === terms[i])) return { code: 'unchanged', details: detailsOf(state) }
    if (isSale && (state.available !== state.stock || state.queued !== '0' || state.status === 'closed')) {
      return { code: 'has_claims', details: detailsOf(state) }
    }
    TERMS.forEach((term, i) => { state[term] = terms[i] })
    if (terms[TERMS.length] === '1') state.lineage = ''
    more.forEach((value, i) => { state[OF_PRODUCT[i]] = value })
    Object.assign(state,
      { status: 'open', available: state.stock, held: '0', sold: '0', queued: '0', turnMs: state.holdMs, seq: state.seq ?? '0' })
    if (isAgain) add(state, 'seq', 1)
    const opening = isProduct ? ['stock', state.stock, 'about', state.about] : []
    const opens = state.mode === 'queue' && now < Number(state.openAt)
    return {
      code: 'created',
      details: detailsOf(state),
      change: {
        events: [['seq', isAgain ? state.seq : '0', 'type', 'open', ...opening]],
        tasks: [['open', opens ? state.openAt : null], ['due', isProduct ? null : state.closeAt]]
      }
    }
  },

  restock (state, [, quantity], now, read) {
    if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
    const change = nothing()
    const reopens = state.sold === state.stock
    add(state, 'stock', Number(quantity))
    add(state, 'available', Number(quantity))
    change.events.push(eventOf(state, 'restocked', '', '', quantity))
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...change, reopens } }
  },

  pause (state, args, now, read) { return turnTo(state, now, read, 'paused', 'paused') },

  resume (state, args, now, read) { return turnTo(state, now, read, 'open', 'resumed') },

  remove (state) {
    if (state.status === 'closed') return { code: 'closed', details: detailsOf(state) }
    return state.held === '0' ? finishSale(state) : { code: 'has_holds', details: detailsOf(state) }
  },

  close (state) {
    if (state.status === 'closed') return { code: 'closed', details: detailsOf(state) }
    return finishSale(state)
  },

  due (state, args, now) {
    if (state.status === 'closed' || now < Number(state.closeAt)) return { code: 'not_due', details: detailsOf(state) }
    return finishSale(state)
  }
}
