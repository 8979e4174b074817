/**
 * The steps of an order: what is done in each status, and the command that records it.
 *
 *     placed      hold every line                     -> held, or declined
 *     held        authorize the payment               -> capture_requested, or declined
 *     capturing   capture it                          -> captured, or declined by the provider
 *     captured    the holds become sold               -> confirmed
 *     cancelling  release every line, void the payment   -> cancelled
 *
 * Each is harmless when it is done again: claims by their ids, payments by the order's id and time, the order by its status.
 *
 * @import { Decision } from 'freshet-feed/systems'
 *
 * @typedef {Record<string, string>} Fields
 * @typedef {import('./lines.js').Line} Line
 * @typedef {Decision & { authorization?: string }} Step `authorization`: id of the payment at its provider, when it became known
 */
import { FreshetError } from './errors.js'
import { claimOfLine, idOfKey, productKey } from './keys.js'

/** The user of all claims of orders. */
const HOLDER = 'o'
/** The end of a hold that lasts until the order confirms or releases it. */
const ENDLESS = ''
const OUT_OF_STOCK = Object.freeze(['sold_out', 'all_held', 'insufficient', 'over_limit', 'unknown', 'closed'])
/** `already_claimed`: a former owner did; `released`: the order is being cancelled, which its next step reports */
const HELD = Object.freeze(['accepted', 'already_claimed', 'released'])
const SOLD = Object.freeze(['accepted', 'already_sold'])
/** `unknown`: the product was deleted */
const FREE = Object.freeze(['accepted', 'released', 'unknown_claim', 'unknown'])

/**
 * The time makes it another payment than that of an older order with the same id, which has left the servers.
 * @param {string} key of the order @param {Fields} state @returns {import('./payments/payments.js').Payment}
 */
export const paymentOf = (key, { total, placedAt, authorization: id }) =>
  ({ key: `${idOfKey(key)}.${Number(placedAt).toString(36)}`, amount: Number(total), id })

/** @param {Decision[]} decisions about lines @param {readonly string[]} codes that are expected @throws {FreshetError} STOCK_DIFFERS */
function expectAll (decisions, codes) {
  const other = decisions.find(({ code }) => !codes.includes(code))
  if (other) throw new FreshetError('STOCK_DIFFERS', `a line of the order: ${other.code} ${other.details.reason ?? ''}`.trim())
}

/**
 * @param {Pick<Parameters<typeof import('./saga.js').createSaga>[0], 'submit' | 'payments' | 'confirm'>} parts
 */
export function createSteps ({ submit, payments, confirm }) {
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

  /** @type {Record<string, (key: string, state: Fields) => Promise<Step>>} */
  const steps = {
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
      return decision.code === 'late' ? step(key, 'deadline') : { ...decision, authorization: id }
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

  return { step, steps }
}
