/**
 * Drives an order, by the process that owns its partition: from whatever status it has to a final one, step by step (steps.js). An owner
 * that was killed, or stood still, needs no memory, and a former owner changes nothing.
 *
 * What may succeed later (a provider that is down, a server that is away) leaves the scheduled task due, with a back-off. What fails
 * otherwise is tried MAX_ATTEMPTS times; then the order is parked as a dead letter.
 *
 * @import { Command, Decision } from 'freshet-feed/systems'
 *
 * @typedef {Record<string, string>} Fields
 */
import { FreshetError } from './errors.js'
import { idOfKey } from './keys.js'
import { isFinal } from './replies.js'
import { createSteps, paymentOf } from './steps.js'
import { traced } from './traces.js'

const MAX_ATTEMPTS = 5
/** A payment with one of these statuses is undone when its order is cancelled. */
const OPEN = Object.freeze(['authorized', 'captured'])

/**
 * @param {object} parts
 * @param {(command: Command) => Promise<Decision>} parts.submit
 * @param {(commands: Command[]) => Promise<Decision[]>} parts.submitAll of one key, in one call
 * @param {(key: string) => Promise<Fields>} parts.stateOf from the primary
 * @param {import('./payments/payments.js').Payments} parts.payments
 * @param {(key: string) => Promise<void>} parts.confirm what was decided about the order is as durable as its placing
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
      const found = await payments.lookup(paymentOf(key, state))
      if (found && OPEN.includes(found.status)) await payments.undo(paymentOf(key, state))
    }
    await step(key, 'checked')
  }

  /** @param {string} key @param {Fields} first @param {Record<string, string>} ids for logs */
  async function drive (key, first, ids) {
    let state = first
    while (!isFinal(state.status)) {
      const before = state.status
      onStep(key, before)
      const { code, details, authorization = state.authorization } = await traced(`order ${before}`, ids, () => steps[before](key, state))
      log.debug({ ...ids, from: before, to: details.status, code }, 'step')
      // another one was faster, or it was cancelled
      if (code !== 'accepted') state = await stateOf(key)
      else {
        const { status, reason } = /** @type {Fields} */ (details)
        const wasHeld = status === 'held' ? '1' : state.wasHeld
        state = { ...state, status, reason, wasHeld, authorization }
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
