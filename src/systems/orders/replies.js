/**
 * Replies to clients: decisions and states as JSON.
 *
 * @import { Stored } from 'freshet-feed/systems'
 *
 * @typedef {NonNullable<Parameters<typeof decisions.taken>[1][string]>} Refusal
 * @typedef {{ code: string, seq: number, details: Record<string, any> }} Decision
 */
import { decisions, moneyText } from 'freshet-feed/systems'
import { FreshetError } from './errors.js'
import { idOfKey } from './keys.js'

const FINAL = Object.freeze(['confirmed', 'cancelled'])
/** @type {Refusal} */
const INSUFFICIENT = ['PRODUCT_INSUFFICIENT', 'fewer units are available; available says how many']
/** @type {[string, string]} */
export const ENDED = ['RESERVATION_ENDED', 'the reservation was released, or has expired; reserve again with another reservationId']

/** Rejections by the rules that a client reaches. @type {Parameters<typeof decisions.taken>[1]} */
const REFUSED = {
  sold_out: INSUFFICIENT,
  all_held: INSUFFICIENT,
  insufficient: INSUFFICIENT,
  over_limit: INSUFFICIENT,
  has_holds: ['PRODUCT_HELD', 'units of the product are held; try again later'],
  closed: 'PRODUCT_UNKNOWN',
  unknown_claim: ENDED
}
/** @type {Readonly<Record<string, Refusal>>} by rule */
const UNKNOWN = {
  step: 'ORDER_UNKNOWN',
  bounded: 'PRODUCT_UNKNOWN'
}

/** @param {Decision} decision */
const availableIn = ({ details: { available } }) => available === undefined ? {} : { available: Number(available) }

/**
 * @template {Decision} D @param {D} decision @param {string} rule
 * @returns {D} @throws {FreshetError} PRODUCT_..., ORDER_UNKNOWN, RESERVATION_ENDED, as throwIfRefused
 */
export function expectAccepted (decision, rule) {
  if (decision.code === 'already_claimed' && decision.details.status !== 'held') {
    throw new FreshetError(...ENDED, availableIn(decision))
  }
  return decisions.taken(decision, UNKNOWN[rule] ? { ...REFUSED, unknown: UNKNOWN[rule] } : REFUSED, availableIn)
}

/** @param {string} status of rule `step` */
export const isFinal = (status) => FINAL.includes(status)

/** The status that a client sees. @param {string} status of rule `step` @returns {string} pending, confirmed or cancelled */
export const statusOf = (status) => isFinal(status) ? status : 'pending'

/**
 * @param {Stored} stored an order
 * @param {{ mask: (id: string) => string, nowMs: number }} options @returns {Record<string, unknown>}
 */
export const orderOf = ({ key, generation, state, seq }, { mask, nowMs }) => ({
  id: idOfKey(key),
  customer: mask(state.customer),
  status: statusOf(state.status),
  step: state.status,
  total: moneyText(state.total),
  lines: JSON.parse(state.lines).map((/** @type {import('./commands.js').Line} */ { sku, quantity, price }) =>
    ({ sku, quantity, price: moneyText(price) })),
  ...(state.reason ? { reason: state.reason } : {}),
  ...(state.parked ? { parked: state.parked } : {}),
  placedAt: Number(state.placedAt),
  generation,
  seq,
  asOf: nowMs
})

/** @param {Record<string, any>} event of an order @returns {Record<string, unknown>} */
export const stepOf = ({ seq, type, status, reason, parked, ts }) => ({
  seq: Number(seq),
  type,
  step: status,
  status: statusOf(status),
  ...(reason ? { reason } : {}),
  ...(parked ? { parked } : {}),
  ts: Number(ts)
})
