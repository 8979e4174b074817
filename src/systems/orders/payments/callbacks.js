/**
 * Callbacks of a payment provider: their signature, in the format of Stripe (https://docs.stripe.com/webhooks#verify-manually), which the
 * local provider has too: `t=<seconds>,v1=<HMAC-SHA256 of "t.body", hex>`.
 *
 * A callback only says that there is news of payments: the owner of the order looks it up. So a false, late or repeated one changes
 * nothing.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { FreshetError } from '../errors.js'

/** Most orders of one callback: each is read on the servers. */
export const MAX_ORDERS = 100
const MAX_AGE_S = 300
const SIGNATURE_HEADERS = Object.freeze(['payment-signature', 'stripe-signature'])

/** @param {string} secret @param {string} body @param {number} seconds since 1970 @returns {string} value of the header */
export const signatureOf = (secret, body, seconds) =>
  `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`

/**
 * @param {{ secret: string | null, headers: Record<string, string | string[] | undefined>, body: string, nowMs: number }} callback
 * @returns {string[]} ids of the orders that it is about @throws {FreshetError} CALLBACK_INVALID
 */
export function ordersOf ({ secret, headers, body, nowMs }) {
  const signature = String(SIGNATURE_HEADERS.map((name) => headers[name]).find(Boolean) ?? '')
  const seconds = Number(/(?:^|,)t=(\d{1,12})(?:,|$)/.exec(signature)?.[1] ?? NaN)
  if (secret === null) throw new FreshetError('CALLBACK_INVALID', 'this gateway cannot check signatures; start it with --payment-secret')
  if (!(Math.abs(nowMs / 1000 - seconds) <= MAX_AGE_S)) {
    throw new FreshetError('CALLBACK_INVALID', `the signature has no time, or one more than ${MAX_AGE_S} s from now; compare the clocks`)
  }
  const expected = Buffer.from(signatureOf(secret, body, seconds).split(',v1=')[1])
  const isSigned = [...signature.matchAll(/v1=([0-9a-f]{64})/g)].some(([, hex]) => timingSafeEqual(Buffer.from(hex), expected))
  if (!isSigned) throw new FreshetError('CALLBACK_INVALID', 'the signature is not one of this body; check --payment-secret')
  return ordersIn(body)
}

/**
 * The local provider sends an array of `{key}`; Stripe has the key in the metadata of the PaymentIntent, and other news as well.
 * @param {string} body @throws {FreshetError} CALLBACK_TOO_LARGE
 */
function ordersIn (body) {
  const ids = new Set([jsonIn(body)].flat().flatMap((notice) => {
    const order = notice?.key ?? notice?.data?.object?.metadata?.order
    // without the time of the order (saga.js)
    return typeof order === 'string' ? [order.split('.')[0]] : []
  }))
  if (ids.size <= MAX_ORDERS) return [...ids]
  throw new FreshetError('CALLBACK_TOO_LARGE', `the callback has news of ${ids.size} orders; send at most ${MAX_ORDERS} in one`)
}

/** @param {string} text @returns {any} null: it is no JSON */
function jsonIn (text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
