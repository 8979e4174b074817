/**
 * Drives an order, by the process that owns its partition: from whatever status it has to a final one.
 *
 *     placed      hold every line                     -> held, or declined
 *     held        authorize the payment               -> capture_requested, or declined
 *     capturing   capture it                          -> captured, or declined by the provider
 *     captured    the holds become sold               -> confirmed
 *     cancelling  release every line, void the payment   -> cancelled
 *
 * Each step is harmless when it is done again: claims by their ids, payments by the order's id and time, the order by its status. So an owner that
 * was killed, or stood still, needs no memory, and a former owner changes nothing.
 *
 * What may succeed later (a provider that is down, a server that is away) leaves the scheduled task due, with a back-off. What fails
 * otherwise is tried MAX_ATTEMPTS times; then the order is parked as a dead letter.
 *
 * @typedef {import('../../admission/index.js').Fields} Fields
 * @typedef {import('../../admission/index.js').Command} Command
 * @typedef {import('../../admission/index.js').Decision} Decision
 * @typedef {import('./lines.js').Line} Line
 */
import { FreshetError } from './errors.js'
import { claimOfLine, idOfKey, productKey } from './keys.js'
import { isFinal } from './replies.js'
import { traced } from './traces.js'

const MAX_ATTEMPTS = 5
/** who holds units of a product, and of which claims */
const HOLDER = 'o'
/** a hold without end */
const ENDLESS = ''
const OUT_OF_STOCK = Object.freeze(['sold_out', 'all_held', 'insufficient', 'over_limit', 'unknown', 'closed'])
/** `already_claimed`: a former owner did; `released`: the order is being cancelled, which its next step reports */
const HELD = Object.freeze(['accepted', 'already_claimed', 'released'])
const SOLD = Object.freeze(['accepted', 'already_sold'])
/** payments that must not stay so when the order is cancelled */
const OPEN = Object.freeze(['authorized', 'captured'])
/** `unknown`: the product was deleted */
const FREE = Object.freeze(['accepted', 'released', 'unknown_claim', 'unknown'])

/**
 * The time makes it another payment than that of an older order with the same id, which has left the servers.
 * @param {string} key of the order @param {Fields} state @returns {import('./payments/payments.js').Payment}
 */
const paymentOf = (key, { total, placedAt, authorization: id }) =>
  ({ key: `${idOfKey(key)}.${Number(placedAt).toString(36)}`, amount: Number(total), id })

/** @param {Decision[]} decisions about lines @param {readonly string[]} codes that are expected @throws {FreshetError} STOCK_DIFFERS */
function expectAll (decisions, codes) {
  const other = decisions.find(({ code }) => !codes.includes(code))
  if (other) throw new FreshetError('STOCK_DIFFERS', `a line of the order: ${other.code} ${other.details.reason ?? ''}`.trim())
}

/**
 * @param {object} parts
 * @param {(command: Command) => Promise<Decision>} parts.submit
 * @param {(key: string) => Promise<Fields>} parts.stateOf from the primary
 * @param {import('./payments/payments.js').Payments} parts.payments
 * @param {(key: string) => Promise<void>} parts.confirm what was decided about the order is as durable as its placing
 * @param {(key: string, letter: { reason: string, attempts: number }) => Promise<void>} parts.bury writes a dead letter, which resumes it
 * @param {(key: string) => Promise<unknown>} parts.drop removes its scheduled task
 * @param {(outcome: string, seconds: number) => void} [parts.onFinal] `outcome`: confirmed, or why it was cancelled; `seconds`: since it
 *   was placed
 * @param {import('pino').Logger} parts.log
 * @returns {(key: string) => Promise<void>} drives one order; errors: it is tried again
 */
export function createSaga ({ submit, stateOf, payments, confirm, bury, drop, onFinal = () => {}, log }) {
  /** by order: attempts that failed for good @type {Map<string, number>} */
  const attempts = new Map()

  /** @param {string} key @param {string[]} args */
  const step = (key, ...args) => submit({ rule: 'step', key, scope: '', requestId: '', args })

  /**
   * Of every line at once.
   * @param {string} key of the order @param {Fields} state @param {(claim: string, line: Line) => string[]} argsOf
   */
  function onLines (key, state, argsOf) {
    /** @type {Line[]} */
    const lines = JSON.parse(state.lines)
    return Promise.all(lines.map((line, i) => submit({
      rule: 'bounded', key: productKey(line.sku), scope: '', requestId: '', args: argsOf(claimOfLine(idOfKey(key), i), line)
    })))
  }

  /** @type {Record<string, (key: string, state: Fields) => Promise<Decision>>} */
  const STEPS = {
    async placed (key, state) {
      const holds = await onLines(key, state, (claim, { quantity }) =>
        ['claim', HOLDER, String(quantity), claim, 'sold', 'direct', ENDLESS])
      if (holds.some(({ code }) => OUT_OF_STOCK.includes(code))) return step(key, 'declined', 'out_of_stock')
      expectAll(holds, HELD)
      return step(key, 'held')
    },

    async held (key, state) {
      const { status, id } = await payments.authorize(paymentOf(key, state))
      if (status === 'declined' || status === 'voided') return step(key, 'declined', 'payment_declined')
      const decision = await step(key, 'capture_requested', id)
      return decision.code === 'late' ? step(key, 'deadline') : decision
    },

    async capturing (key, state) {
      // no failover may forget that it was requested
      await confirm(key)
      const { status } = await payments.capture(paymentOf(key, state))
      return status === 'captured' ? step(key, 'captured') : step(key, 'declined', 'capture_declined')
    },

    async captured (key, state) {
      const sold = await onLines(key, state, (claim) => ['confirm', HOLDER, claim, 'sold'])
      expectAll(sold, SOLD)
      return step(key, 'confirmed')
    },

    async cancelling (key, state) {
      expectAll(await onLines(key, state, (claim) => ['release', HOLDER, claim]), FREE)
      if (state.wasHeld) await payments.undo(paymentOf(key, state))
      return step(key, 'cancelled')
    }
  }

  /** News of the payment of a final order: what was captured late is paid back. @param {string} key @param {Fields} state */
  async function checkFinal (key, state) {
    if (state.status === 'cancelled') {
      const found = await payments.lookup(paymentOf(key, state))
      if (found && OPEN.includes(found.status)) await payments.undo(paymentOf(key, state))
    }
    await step(key, 'checked')
  }

  /** @param {string} key */
  async function drive (key) {
    const state = await stateOf(key)
    // it has left the servers
    if (state.status === undefined) return drop(key)
    if (isFinal(state.status)) return checkFinal(key, state)
    const attributes = { sagaId: idOfKey(key), correlationId: state.correlation }
    return traced('order', attributes, () => driveFrom(key, state))
  }

  /** @param {string} key @param {Fields} first */
  async function driveFrom (key, first) {
    let state = first
    while (!isFinal(state.status)) {
      const before = state.status
      const { code, details } = await traced(`order ${before}`, {}, () => STEPS[before](key, state))
      log.debug({ sagaId: idOfKey(key), correlationId: state.correlation, from: before, to: details.status, code }, 'step')
      // another one was faster, or it was cancelled
      if (code !== 'accepted') state = await stateOf(key)
      else state = { ...state, status: details.status, reason: details.reason, wasHeld: details.status === 'held' ? '1' : state.wasHeld }
      if (code !== 'accepted' && state.status === before) throw new FreshetError('INTERNAL', `step of an order: ${code}`)
    }
    const seconds = (Date.now() - Number(state.placedAt)) / 1000
    onFinal(state.status === 'confirmed' ? 'confirmed' : state.reason, seconds)
    log.debug({ sagaId: idOfKey(key), correlationId: state.correlation, status: state.status, reason: state.reason }, 'final')
  }

  return async (key) => {
    try {
      await drive(key)
      attempts.delete(key)
    } catch (error) {
      const failed = (attempts.get(key) ?? 0) + (error.retryable ? 0 : 1)
      log[error.retryable ? 'debug' : 'warn']({ sagaId: idOfKey(key), code: error.code, reason: error.message }, 'an order is tried again')
      if (failed > 0) attempts.set(key, failed)
      if (failed < MAX_ATTEMPTS) throw error
      attempts.delete(key)
      // first the letter: an order that is parked without one could not be found
      await bury(key, { reason: error.message, attempts: failed })
      const { code } = await step(key, 'park', error.message)
      if (code === 'illegal') await step(key, 'checked')
    }
  }
}
