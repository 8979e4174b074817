/**
 * The payment provider: an adapter to its HTTP format, behind a deadline and a circuit breaker.
 *
 * The result of a call that had no reply is unknown, never assumed: it is looked up by the key of the payment, which comes from the
 * order; if the provider does not know it, the call is made again later with the same key.
 *
 * @typedef {'authorized' | 'captured' | 'declined' | 'voided' | 'refunded'} PaymentStatus
 * @typedef {{ key: string, amount: number, id?: string }} Payment `amount`: minor units; `id`: of the provider, once it is known
 * @typedef {{ status: PaymentStatus, id: string }} Result
 * @typedef {(method: 'GET' | 'POST', path: string, options?: { body?: string, headers?: Record<string, string> }) =>
 *   Promise<{ status: number, json: any }>} Call
 * @typedef {Record<'authorize' | 'capture' | 'void' | 'refund', (payment: Payment) => Promise<Result>> &
 *   { lookup: (payment: Payment) => Promise<Result | null> }} Adapter every call is harmless when it is made again. `void` makes a later
 *   capture impossible, also of a payment that the provider does not know; `refund`: all of it; `lookup`: null = it does not know it
 */
import { calls } from 'freshet-feed/systems'
import { FreshetError } from '../errors.js'
import { traced } from '../traces.js'
import { stripe } from './stripe.js'

/** The provider of `npm start payments` (demo/payments/server.js). A payment is known by its key. */

const JSON_TYPE = Object.freeze({ 'content-type': 'application/json' })

/**
 * @param {Call} call @param {{ currency: string }} options
 * @returns {Adapter}
 */
function local (call, { currency }) {
  const pathOf = (/** @type {string} */ key) => `/v1/payments/${encodeURIComponent(key)}`

  /** @param {string} key @param {string} operation */
  const post = async (key, operation) => read(await call('POST', `${pathOf(key)}/${operation}`), key)

  return {
    authorize: async ({ key, amount }) =>
      read(await call('POST', '/v1/payments', { body: JSON.stringify({ key, amount, currency }), headers: JSON_TYPE }), key),
    capture: ({ key }) => post(key, 'capture'),
    void: ({ key }) => post(key, 'void'),
    refund: ({ key }) => post(key, 'refund'),

    async lookup ({ key }) {
      const reply = await call('GET', pathOf(key))
      return reply.status === 404 ? null : read(reply, key)
    }
  }
}

/** @param {{ status: number, json: any }} reply @param {string} key @returns {Result} */
function read ({ status, json }, key) {
  if (status === 200) return { status: json.status, id: key }
  throw new FreshetError('PAYMENT_REFUSED', `the payment provider rejected a request (${status}): ${json.error ?? 'without a reason'}`)
}

/** HTTP calls of a payment provider, within a deadline. */

const MAX_SOCKETS = 256
/** Whether the effect of a request with this status is unknown. */
const isUnknown = (/** @type {number} */ status) => status >= 500 || status === 408 || status === 409 || status === 429

/**
 * @param {{ url: string, key: string | null, timeoutMs: number }} options `key`: of the API, sent as a bearer token
 * @returns {{ call: Call, close: () => void }} `call` throws PAYMENT_UNKNOWN: no usable reply, PAYMENT_REFUSED
 */
function createCall ({ url, key, timeoutMs }) {
  const headers = key === null ? undefined : { authorization: `Bearer ${key}` }
  const client = calls.createHttpClient({ url, headers, timeoutMs, maxSockets: MAX_SOCKETS })

  return {
    async call (method, path, options) {
      const { status, text } = await client.call(method, path, options).catch((error) => { throw unknown(error.message) })
      if (isUnknown(status)) throw unknown(`status ${status}`)
      try {
        return { status, json: JSON.parse(text) }
      } catch {
        throw unknown('a reply that is not JSON')
      }
    },

    close: client.close
  }
}

/** @param {string} why */
const unknown = (why) => new FreshetError('PAYMENT_UNKNOWN', `the payment provider: ${why}; the result is looked up`, { isOutside: true })

/** Most calls in flight. */
const LIMIT = 256
const CURRENCY = 'usd'
/** Orders must end soon after the provider answers again, so the breaker is open for a short time only. */
const RESET_MS = 2000

/** @type {Readonly<Record<string, { base: string, adapterOf: (call: Call, options: { currency: string }) => Adapter }>>} */
const PROVIDERS = Object.freeze({
  local: { base: 'http://127.0.0.1:8095', adapterOf: local },
  stripe: { base: 'https://api.stripe.com', adapterOf: stripe }
})

/** @typedef {ReturnType<typeof createPayments>} Payments */

/**
 * @param {{ provider: string, url: string | null, key: string | null, timeoutMs: number, resetMs?: number,
 *   onCall?: (operation: string, outcome: string, seconds: number) => void }} options `url`: null = the usual one; `key`: of the API;
 *   `resetMs`: how long the breaker stays open
 */
export function createPayments ({ provider, url, key, timeoutMs, resetMs = RESET_MS, onCall = () => {} }) {
  const breaker = calls.createBreaker({ limit: LIMIT, resetMs })
  const { base, adapterOf } = PROVIDERS[provider]
  const { call, close } = createCall({ url: url ?? base, key, timeoutMs })
  const adapter = adapterOf(call, { currency: CURRENCY })
  let inFlight = 0

  /** @template T @param {keyof Adapter} operation @param {Payment} payment @returns {Promise<T>} */
  async function guarded (operation, payment) {
    if (breaker.isRefusing() || !breaker.hasRoom(inFlight)) {
      onCall(operation, 'refused', 0)
      // too many calls of a provider that answers are a backlog of this process
      const isOutside = breaker.state() !== 'closed'
      throw new FreshetError('PAYMENT_DOWN', 'the payment provider fails; it is called again in a moment', { isOutside })
    }
    const done = breaker.start()
    const sinceMs = performance.now()
    const note = (/** @type {string} */ outcome) => onCall(operation, outcome, (performance.now() - sinceMs) / 1000)
    inFlight++
    try {
      const [sagaId] = payment.key.split('.')
      const result = /** @type {any} */ (await traced(`payment ${operation}`, { sagaId }, () => adapter[operation](payment)))
      done(false)
      note(result?.status ?? 'none')
      return result
    } catch (error) {
      done(error.code === 'PAYMENT_UNKNOWN')
      note(error.code === 'PAYMENT_UNKNOWN' ? 'unknown' : 'rejected')
      throw error
    } finally {
      inFlight--
    }
  }

  /** @param {'authorize' | 'capture' | 'void' | 'refund'} operation @param {Payment} payment @returns {Promise<Result>} */
  async function settled (operation, payment) {
    try {
      return await guarded(operation, payment)
    } catch (error) {
      if (error.code !== 'PAYMENT_UNKNOWN') throw error
      const result = await /** @type {Promise<Result | null>} */ (guarded('lookup', payment))
      // a status from before the call took effect settles nothing
      if (result === null || !isAfter(operation, result.status)) throw error
      return result
    }
  }

  return {
    /** @param {Payment} payment @returns {Promise<Result>} authorized, captured, declined or voided @throws PAYMENT_... */
    authorize: (payment) => settled('authorize', payment),

    /** @param {Payment} payment @returns {Promise<Result>} captured, declined or voided @throws PAYMENT_... */
    capture: (payment) => settled('capture', payment),

    /** @param {Payment} payment @returns {Promise<Result | null>} null: the provider does not know it @throws PAYMENT_... */
    lookup: (payment) => guarded('lookup', payment),

    /** Nothing stays captured, and nothing can be captured later. @param {Payment} payment @throws PAYMENT_... */
    async undo (payment) {
      const { status } = await settled('void', payment)
      if (status === 'captured') await settled('refund', payment)
    },

    /** The URL of a provider on this machine; null: it is elsewhere. */
    localUrl: calls.localUrl(url ?? base),

    /** The state of the breaker, for metrics. @returns {string} */
    breaker: () => breaker.state(),

    close
  }
}

/**
 * Whether a payment with this status has had the operation, or cannot have it any more.
 * @param {string} operation @param {string} status
 */
function isAfter (operation, status) {
  if (operation === 'authorize') return true
  return operation === 'refund' ? status === 'refunded' : status !== 'authorized'
}
