/**
 * Drives an order, by the process that owns its partition: from whatever status it has to a final one, step by step. An owner that was
 * killed, or stood still, needs no memory, and a former owner changes nothing.
 *
 * What may succeed later (a provider that is down, a server that is away) leaves the scheduled task due, with a back-off. What fails
 * otherwise is tried MAX_ATTEMPTS times; then the order is parked as a dead letter.
 *
 * @import { Command, Decision } from 'freshet-feed/systems'
 *
 * @typedef {Record<string, string>} Fields
 */
import { FreshetError } from './errors.js'
import { claimOfLine, idOfKey, productKey } from './keys.js'
import { isFinal } from './replies.js'
import { traced } from './traces.js'

/**
 * The steps of an order: what is done in each status, and the command that records it.
 *
 *     placed      hold every line                     -> held, or declined
 *     held        authorize the payment               -> capture_requested, or declined
 *     capturing   capture it                          -> captured, or declined by the provider
 *     captured    the holds become sold               -> confirmed
 *     cancelling  release every line, void the payment   -> cancelled
 *
 * Steps that follow at once are recorded in one call: `held` together with what the provider replies, if that comes within SOON_MS, and
 * `captured` with `confirmed`.
 *
 * Each is harmless when it is done again: claims by their ids, payments by the order's id and time, the order by its status.
 *
 * @typedef {import('./commands.js').Line} Line
 * @typedef {Decision & { generation?: string, authorization?: string }} Step `authorization`: id of the payment at its provider, when it
 *   became known
 */

/** Until then a client does not miss that the order is held. */
const SOON_MS = 25
/** The user of all claims of orders. */
const HOLDER = 'o'
/** The end of a hold that lasts until the order confirms or releases it. */
const ENDLESS = ''
const OUT_OF_STOCK = Object.freeze(['sold_out', 'all_held', 'insufficient', 'over_limit', 'unknown', 'closed'])
/** `already_claimed`: a former owner did; `released`: the order is being cancelled, which its next step reports */
const HELD = Object.freeze(['accepted', 'already_claimed', 'released'])
const SOLD = Object.freeze(['accepted', 'already_sold'])
/** What a product says of a claim that it sold long ago. */
const FORGOTTEN = Object.freeze(['unknown_claim', 'unknown'])
/** `unknown`: the product was deleted */
const FREE = Object.freeze(['accepted', 'released', 'unknown_claim', 'unknown'])

/**
 * The time makes it another payment than that of an older order with the same id, which has left the servers.
 * @param {string} key of the order @param {Fields} state @returns {import('./payments/payments.js').Payment}
 */
const paymentOf = (key, { total, placedAt, authorization: id }) =>
  ({ key: `${idOfKey(key)}.${Number(placedAt).toString(36)}`, amount: Number(total), id })

/** @param {Promise<unknown>} work @returns {Promise<boolean>} whether it succeeds within SOON_MS */
const succeedsSoon = (work) => new Promise((resolve) => {
  const timer = setTimeout(resolve, SOON_MS, false)
  work.then(() => true, () => false).then((hasSucceeded) => {
    clearTimeout(timer)
    resolve(hasSucceeded)
  })
})

/** @param {Decision[]} decisions about lines @param {readonly string[]} codes that are expected @throws {FreshetError} STOCK_DIFFERS */
function expectAll (decisions, codes) {
  const other = decisions.find(({ code }) => !codes.includes(code))
  if (other) throw new FreshetError('STOCK_DIFFERS', `a line of the order: ${other.code} ${other.details.reason ?? ''}`.trim())
}

/**
 * @param {Pick<Parameters<typeof createSaga>[0], 'submit' | 'submitAll' | 'payments' | 'confirm' | 'wasSold'>} parts
 */
function createSteps ({ submit, submitAll, payments, confirm, wasSold }) {
  /** Authorizations of orders that are not held by then. @type {Map<string, Promise<import('./payments/payments.js').Result>>} */
  const begun = new Map()

  /**
   * Several steps, of which the last counts if the others are accepted.
   * @param {string} key @param {string[][]} all
   */
  async function stepAll (key, ...all) {
    const decisions = await submitAll(all.map((args) => ({ rule: 'step', key, scope: '', requestId: '', args })))
    return decisions.find(({ code }) => code !== 'accepted') ?? decisions[decisions.length - 1]
  }

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

  /**
   * A product forgets a claim --keep-ms after it was sold, however long its order waits for an owner; the events of the product do not.
   * @param {string} key @param {Fields} state
   */
  async function sell (key, state) {
    const sold = await onLines(key, state, (claim) => ['confirm', HOLDER, claim, 'sold'])
    return Promise.all(sold.map(async (decision, i) => {
      if (!FORGOTTEN.includes(decision.code)) return decision
      const isSold = await wasSold(productKey(JSON.parse(state.lines)[i].sku), claimOfLine(idOfKey(key), i))
      return isSold ? { ...decision, code: 'already_sold' } : decision
    }))
  }

  /**
   * @param {string} key @param {import('./payments/payments.js').Result} result of the authorization
   * @param {string[][]} before steps that are not recorded yet @returns {Promise<Step>}
   */
  async function authorized (key, { status, id }, ...before) {
    if (status === 'declined' || status === 'voided') return stepAll(key, ...before, ['declined', 'payment_declined'])
    const decision = await stepAll(key, ...before, ['capture_requested', id])
    return decision.code === 'late' ? step(key, 'deadline') : { ...decision, authorization: id }
  }

  /** @type {Record<string, (key: string, state: Fields) => Promise<Step>>} */
  const steps = {
    async placed (key, state) {
      const holds = await onLines(key, state, (claim, { quantity }) =>
        ['claim', HOLDER, String(quantity), claim, 'sold', 'direct', ENDLESS])
      if (holds.some(({ code }) => OUT_OF_STOCK.includes(code))) return step(key, 'declined', 'out_of_stock')
      expectAll(holds, HELD)
      const authorizing = payments.authorize(paymentOf(key, state))
      if (await succeedsSoon(authorizing)) return authorized(key, await authorizing, ['held'])
      begun.set(key, authorizing)
      try {
        const decision = await step(key, 'held')
        if (decision.code !== 'accepted') begun.delete(key)
        return decision
      } catch (error) {
        begun.delete(key)
        throw error
      }
    },

    async held (key, state) {
      const authorizing = begun.get(key) ?? payments.authorize(paymentOf(key, state))
      begun.delete(key)
      return authorized(key, await authorizing)
    },

    async capturing (key, state) {
      // no failover may forget that it was requested
      await confirm(key, state.generation || undefined)
      const { status } = await payments.capture(paymentOf(key, state))
      if (status !== 'captured') return step(key, 'declined', 'capture_declined')
      const sold = await sell(key, state)
      return sold.every(({ code }) => SOLD.includes(code)) ? stepAll(key, ['captured'], ['confirmed']) : step(key, 'captured')
    },

    async captured (key, state) {
      expectAll(await sell(key, state), SOLD)
      return step(key, 'confirmed')
    },

    async cancelling (key, state) {
      expectAll(await onLines(key, state, (claim) => ['release', HOLDER, claim]), FREE)
      // the payment may have been authorized before it was recorded that every line is held
      if (state.wasHeld || state.reason !== 'out_of_stock') await payments.undo(paymentOf(key, state))
      return step(key, 'cancelled')
    }
  }

  return { step, steps }
}

const MAX_ATTEMPTS = 5
/** A payment with one of these statuses is undone when its order is cancelled. */
const OPEN = Object.freeze(['authorized', 'captured'])

/**
 * @param {object} parts
 * @param {(command: Command) => Promise<Decision>} parts.submit
 * @param {(commands: Command[]) => Promise<Step[]>} parts.submitAll of one key, in one call
 * @param {(key: string) => Promise<Fields>} parts.stateOf from the primary
 * @param {import('./payments/payments.js').Payments} parts.payments
 * @param {(key: string, generation?: string) => Promise<unknown>} parts.confirm what was decided about the order, in this generation, is
 *   as durable as its placing
 * @param {(product: string, claim: string) => Promise<boolean>} parts.wasSold by the events of the product, its key
 * @param {(key: string, letter: { reason: string, attempts: number, correlationId: string }) => Promise<void>} parts.deadLetter writes a
 *   dead letter, which resumes it
 * @param {(key: string) => Promise<unknown>} parts.drop removes its scheduled task
 * @param {(key: string, step: string | null) => void} [parts.onStep] its status, when it is driven from there; null: no longer on its way
 * @param {(outcome: string, seconds: number) => void} [parts.onFinal] `outcome`: confirmed, or why it was cancelled; `seconds`: since it
 *   was placed
 * @param {any} parts.log
 * @returns {(key: string, placed?: Fields) => Promise<true>} drives one order, until nothing is left to do; `placed`: its state, if it has
 *   just been placed; errors: it is tried again
 */
export function createSaga ({
  submit, submitAll, stateOf, payments, confirm, wasSold, deadLetter, drop, onStep = () => {}, onFinal = () => {}, log
}) {
  /** Attempts that failed for another reason than a server that is away, by order. @type {Map<string, number>} */
  const attempts = new Map()

  const { step, steps } = createSteps({ submit, submitAll, payments, confirm, wasSold })

  /** News of the payment of a final order: what was captured late is paid back. @param {string} key @param {Fields} state */
  async function checkFinal (key, state) {
    if (state.status === 'cancelled') {
      const payment = await payments.lookup(paymentOf(key, state))
      if (payment && OPEN.includes(payment.status)) await payments.undo(paymentOf(key, state))
    }
    await step(key, 'checked')
  }

  /** @param {string} key @param {Fields} first @param {Record<string, string>} ids for logs */
  async function drive (key, first, ids) {
    let state = first
    while (!isFinal(state.status)) {
      const before = state.status
      onStep(key, before)
      const done = await traced(`order ${before}`, ids, () => steps[before](key, state))
      const { code, details, generation = '', authorization = state.authorization } = done
      log.debug({ ...ids, from: before, to: details.status, code }, 'step')
      // another one was faster, or it was cancelled
      if (code !== 'accepted') state = await stateOf(key)
      else {
        const { status, reason } = /** @type {Fields} */ (details)
        const wasHeld = status === 'held' ? '1' : state.wasHeld
        state = { ...state, status, reason, wasHeld, authorization, generation }
      }
      if (code !== 'accepted' && state.status === before) throw new FreshetError('INTERNAL', `step of an order: ${code}`)
    }
    const seconds = Math.max(0, Date.now() - Number(state.placedAt)) / 1000
    onFinal(state.status === 'confirmed' ? 'confirmed' : state.reason, seconds)
    log.debug({ ...ids, status: state.status, reason: state.reason }, 'final')
  }

  return async (key, placed) => {
    /** @type {Record<string, string>} */
    const ids = { sagaId: idOfKey(key) }
    try {
      const state = placed ?? await stateOf(key)
      ids.correlationId = state.correlation
      // it has left the servers
      if (state.status === undefined) await drop(key)
      else if (isFinal(state.status)) await checkFinal(key, state)
      else await traced('order', ids, () => drive(key, state, ids))
      attempts.delete(key)
      onStep(key, null)
    } catch (error) {
      const failed = (attempts.get(key) ?? 0) + (error.retryable ? 0 : 1)
      const isLast = failed >= MAX_ATTEMPTS
      log[error.retryable ? 'debug' : isLast ? 'error' : 'warn']({ ...ids, code: error.code, reason: error.message },
        isLast ? 'the order is parked' : 'the order is tried again')
      if (failed > 0) attempts.set(key, failed)
      if (!isLast) throw error
      attempts.delete(key)
      // first the letter: an order that is parked without one could not be found
      await deadLetter(key, { reason: error.message, attempts: failed, correlationId: ids.correlationId })
      const { code } = await step(key, 'park', error.message)
      if (code === 'illegal') await step(key, 'checked')
      onStep(key, null)
    }
    return true
  }
}
