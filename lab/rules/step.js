/**
 * Rule `step`: the same as lua/rules/step.lua.
 *
 * @typedef {import('./index.js').Fields} Fields
 * @typedef {import('./index.js').Rule} Rule
 * @typedef {import('./index.js').Change} Change
 */

/** whence a step leads where @type {Readonly<Record<string, { from: readonly string[], to: string }>>} */
const STEPS = Object.freeze({
  held: { from: ['placed'], to: 'held' },
  capture_requested: { from: ['held'], to: 'capturing' },
  captured: { from: ['capturing'], to: 'captured' },
  confirmed: { from: ['captured'], to: 'confirmed' },
  declined: { from: ['placed', 'held', 'capturing'], to: 'cancelling' },
  cancel_requested: { from: ['placed', 'held'], to: 'cancelling' },
  deadline: { from: ['placed', 'held'], to: 'cancelling' },
  cancelled: { from: ['cancelling'], to: 'cancelled' }
})
const FINAL = Object.freeze(['confirmed', 'cancelled'])

/** @param {Fields} state @returns {string[]} */
const detailsOf = ({ status, reason, deadline }) => ['status', status, 'reason', reason, 'deadline', deadline]

/** @param {Fields} state @param {string} type @param {string[]} more */
function eventOf (state, type, ...more) {
  state.seq = String(Number(state.seq) + 1)
  return ['seq', state.seq, 'type', type, 'status', state.status, 'reason', state.reason, ...more]
}

/** @param {Fields} state @param {Change} change @returns {import('./index.js').Outcome} */
const accepted = (state, change) => ({ code: 'accepted', details: detailsOf(state), change })

/** @param {number} now @returns {Change} the owner looks at once */
const look = (now) => ({ events: [['seq', '0', 'type', 'wanted']], tasks: [['run', String(now)]] })

/** @type {Record<string, Rule>} */
const OPS = {
  place (state, [, customer, total, lines, address, deadlineMs, correlation], now) {
    if (state.status !== undefined) {
      const isSame = state.customer === customer && state.total === total && state.lines === lines && state.address === address
      return isSame ? { code: 'exists', details: detailsOf(state) } : { code: 'other_body', details: detailsOf(state) }
    }
    const deadline = String(now + Number(deadlineMs))
    Object.assign(state, { status: 'placed', customer, total, lines, address, deadline, correlation, placedAt: String(now) })
    Object.assign(state, { reason: '', parked: '', wasHeld: '', authorization: '', seq: '0' })
    const event = eventOf(state, 'placed', 'customer', customer, 'total', total, 'lines', lines, 'address', address, 'deadline', deadline)
    const change = { events: [event], tasks: /** @type {[string, string][]} */ ([['run', String(now)], ['deadline', deadline]]) }
    return { code: 'created', details: detailsOf(state), change }
  },

  check (state, args, now) {
    // a confirmed order has its payment, and one that is being driven is looked at anyway
    if (state.parked === '' && state.status !== 'cancelled') return { code: 'illegal', details: detailsOf(state) }
    return accepted(state, look(now))
  },

  checked (state) {
    if (!FINAL.includes(state.status)) return { code: 'illegal', details: detailsOf(state) }
    return accepted(state, { events: [], tasks: [['run', null]] })
  },

  park (state, [, reason]) {
    if (FINAL.includes(state.status)) return { code: 'illegal', details: detailsOf(state) }
    state.parked = reason
    return accepted(state, { events: [eventOf(state, 'parked', 'parked', reason)], tasks: [['run', null]] })
  },

  resume (state, args, now) {
    if (state.parked === '') return { code: 'illegal', details: detailsOf(state) }
    state.parked = ''
    return accepted(state, { events: [eventOf(state, 'resumed', 'parked', '')], tasks: [['run', String(now)]] })
  }
}

/** @type {Rule} */
function take (state, [op, text = ''], now) {
  const { from, to } = STEPS[op]
  if (!from.includes(state.status)) return { code: 'illegal', details: detailsOf(state) }
  if (op === 'deadline' && now < Number(state.deadline)) return { code: 'not_due', details: detailsOf(state) }
  if (op === 'capture_requested' && now >= Number(state.deadline)) return { code: 'late', details: detailsOf(state) }
  Object.assign(state, { status: to, parked: '' })
  if (to === 'held') state.wasHeld = '1'
  if (to === 'capturing') state.authorization = text
  if (to === 'cancelling') state.reason = text || op
  const isFinal = FINAL.includes(to)
  const isPastDeadline = isFinal || to === 'capturing' || to === 'cancelling'
  const tasks = /** @type {[string, string | null][]} */ ([['run', isFinal ? null : String(now)]])
  if (isPastDeadline) tasks.push(['deadline', null])
  return accepted(state, { events: [eventOf(state, op)], tasks, ends: isFinal })
}

/** @type {Rule} */
export function step (state, args, now, read) {
  if (args[0] !== 'place' && state.status === undefined) return { code: 'unknown', details: [] }
  return (OPS[args[0]] ?? take)(state, args, now, read)
}
