/**
 * Replies to clients: decisions and states as JSON.
 *
 * @typedef {import('../../admission/index.js').Decision} Decision
 * @typedef {import('../../admission/index.js').Fields} Fields
 */
import { moneyText } from '../../http/index.js'
import { FreshetError } from './errors.js'
import { idOfKey } from './keys.js'

const FINAL = Object.freeze(['confirmed', 'cancelled'])
const INSUFFICIENT = Object.freeze(['PRODUCT_INSUFFICIENT', 'fewer units are available; available says how many'])

/** @type {Readonly<Record<string, readonly string[]>>} rejections that are errors, of rules that a client reaches */
const REFUSED = Object.freeze({
  other_body: ['IDEMPOTENCY_KEY_REUSED', 'this Idempotency-Key was accepted with another body; use another key for another command'],
  sold_out: INSUFFICIENT,
  all_held: INSUFFICIENT,
  insufficient: INSUFFICIENT,
  over_limit: INSUFFICIENT,
  has_holds: ['PRODUCT_HELD', 'units of the product are held; try again later'],
  closed: ['PRODUCT_UNKNOWN', 'the product was deleted'],
  unknown_claim: ['RESERVATION_ENDED', 'the reservation is unknown']
})

/**
 * @param {Decision} decision
 * @throws {FreshetError} PRODUCT_..., ORDER_UNKNOWN, RESERVATION_ENDED, IDEMPOTENCY_KEY_REUSED, INTERNAL
 */
export function throwIfRefused ({ code, details }) {
  if (code === 'failed') throw new FreshetError('INTERNAL', `the command could not be decided: ${details.reason}`)
  const facts = details.available === undefined ? {} : { available: Number(details.available) }
  if (code === 'already_claimed' && details.status !== 'held') {
    throw new FreshetError('RESERVATION_ENDED', 'the reservation is not held any more', facts)
  }
  if (REFUSED[code]) throw new FreshetError(REFUSED[code][0], REFUSED[code][1], facts)
}

/** Units of a product. @param {Record<string, string>} details */
export const productOf = ({ available, held, sold }) => ({ available: Number(available), held: Number(held), sold: Number(sold) })

/** As a client sees it. @param {string} status of rule `step` @returns {'pending' | 'confirmed' | 'cancelled'} */
export const statusOf = (status) => FINAL.includes(status) ? /** @type {any} */ (status) : 'pending'

/** @param {string} status of rule `step` */
export const isFinal = (status) => FINAL.includes(status)

/** @param {{ key: string, fields: Fields }} known an order @returns {Record<string, unknown>} */
export const orderOf = ({ key, fields: { status, seq, total, lines, reason, parked } }) => ({
  orderId: idOfKey(key),
  status: statusOf(status),
  version: Number(seq),
  step: status,
  total: moneyText(total),
  lines: JSON.parse(lines).map((/** @type {import('./lines.js').Line} */ { sku, quantity, price }) =>
    ({ sku, quantity, price: moneyText(price) })),
  ...(reason ? { reason } : {}),
  ...(parked ? { stuck: parked } : {})
})

/** @param {Fields} event of an order @returns {Record<string, unknown>} */
export const stepOf = ({ seq, type, status, reason, parked, ts }) => ({
  version: Number(seq),
  type,
  step: status,
  status: statusOf(status),
  at: Number(ts),
  ...(reason ? { reason } : {}),
  ...(parked ? { stuck: parked } : {})
})
