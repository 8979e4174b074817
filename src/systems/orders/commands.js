/**
 * Commands of orders, products and customers, from checked fields to replies.
 *
 * @typedef {{ status: number, body: Record<string, unknown>, isReplay: boolean }} Reply
 * @typedef {import('../../admission/index.js').Command} Command
 * @typedef {import('../../admission/index.js').Decision} Decision
 * @typedef {import('../../admission/index.js').Fields} Fields
 */
import { otherBody } from '../decisions.js'
import { FreshetError } from './errors.js'
import { claimOfReservation, customerIdOf, customerKey, orderIdOf, orderKey, productKey } from './keys.js'
import { mergeLines, pricedLines } from './lines.js'
import { expectAccepted, productOf, statusOf } from './replies.js'

/** who holds units of a product */
const RESERVER = 'r'
const HOLD_MS = 60_000
const NO_END = String(2 ** 41 - 1)
const NO_LIMIT = String(Number.MAX_SAFE_INTEGER)
/** statuses whose cancellation has begun */
const CANCELLED = Object.freeze(['cancelling', 'cancelled'])

/** @typedef {ReturnType<typeof createOrders>} Orders */

/**
 * @param {{ submit: (command: Command) => Promise<Decision>, agreed: () => Promise<{ secret: string }>,
 *   stateOf: (key: string) => Promise<Fields>, deadlineMs: number, rememberMs: number }} parts `agreed`: the secret of the system;
 *   `stateOf`: from the primary; `deadlineMs` of a saga; `rememberMs`: how long a product knows a claim after its end
 */
export function createOrders ({ submit, agreed, stateOf, deadlineMs, rememberMs }) {
  const statesOf = (/** @type {string[]} */ keys) => Promise.all(keys.map(stateOf))

  /** @param {string} rule @param {string} key @param {string} requestId or empty @param {string[]} args @param {string} [scope] */
  const run = async (rule, key, requestId, args, scope = '') => expectAccepted(await submit({ rule, key, scope, requestId, args }), rule)

  /** @param {string} sku @param {string} requestId @param {string[]} args @param {Record<string, unknown>} [facts] */
  async function change (sku, requestId, args, facts = {}) {
    const decision = await run('bounded', productKey(sku), requestId, args)
    return { status: 200, body: { sku, ...facts, ...productOf(decision.details) }, isReplay: decision.isReplay }
  }

  return {
    /** @param {{ email: string, name: string, address: string }} customer @param {string} requestId @throws CUSTOMER_EXISTS */
    async createCustomer ({ email, name, address }, requestId) {
      const customerId = customerIdOf((await agreed()).secret, email)
      const about = JSON.stringify({ email, name, address })
      const { code, isReplay } = await run('once', customerKey(customerId), requestId, ['create', about])
      if (code === 'exists') throw new FreshetError('CUSTOMER_EXISTS', 'another customer has this email')
      return { status: 201, body: { customerId }, isReplay }
    },

    /**
     * @param {{ sku: string, name: string, price: number, quantity: number }} product minor units @param {string} requestId
     * @throws {FreshetError} PRODUCT_EXISTS
     */
    async createProduct ({ sku, name, price, quantity }, requestId) {
      const about = JSON.stringify({ name, price })
      const { code, details, isReplay } = await run('bounded', productKey(sku), requestId,
        ['create', String(quantity), NO_LIMIT, '0', NO_END, '0', 'direct', '0', '0', String(rememberMs), about])
      if (code === 'exists') throw new FreshetError('PRODUCT_EXISTS', 'there is a product with this SKU; replenish it, or use another one')
      return { status: 201, body: { sku, ...productOf(details) }, isReplay }
    },

    /**
     * Holds units for a while. The reservation id makes a repetition harmless.
     * @param {string} sku @param {{ reservationId: string, quantity: number, holdMs: number | null }} wanted
     * @throws {FreshetError} PRODUCT_UNKNOWN, PRODUCT_INSUFFICIENT, RESERVATION_ENDED
     */
    async reserve (sku, { reservationId, quantity, holdMs }) {
      const { code, details } = await run('bounded', productKey(sku), '',
        ['claim', RESERVER, String(quantity), claimOfReservation(reservationId), 'sold', 'direct', String(holdMs ?? HOLD_MS)])
      if (code === 'already_claimed' && details.quantity !== String(quantity)) throw otherBody('reservationId')
      if (code === 'released') throw new FreshetError('RESERVATION_ENDED', 'the reservation was released, or has expired')
      const until = details.until === undefined ? {} : { holdUntil: Number(details.until) }
      const body = { sku, reservationId, status: 'held', ...until, ...productOf(details) }
      return { status: 200, body, isReplay: code === 'already_claimed' }
    },

    /** @param {string} sku @param {{ reservationId: string }} reservation @throws {FreshetError} PRODUCT_UNKNOWN */
    release: (sku, { reservationId }) =>
      change(sku, '', ['release', RESERVER, claimOfReservation(reservationId)], { reservationId, status: 'released' }),

    /** @param {string} sku @param {{ quantity: number }} more @param {string} requestId @throws {FreshetError} PRODUCT_UNKNOWN */
    replenish: (sku, { quantity }, requestId) => change(sku, requestId, ['restock', String(quantity)]),

    /** @param {string} sku @param {string} requestId @throws {FreshetError} PRODUCT_UNKNOWN, PRODUCT_HELD */
    remove: (sku, requestId) => change(sku, requestId, ['remove'], { status: 'deleted' }),

    /**
     * @param {{ customerId: string, lines: import('./lines.js').Wanted[], address: string }} order
     * @param {string} requestId @param {string} correlationId in the logs of everything that follows
     * @throws {FreshetError} CUSTOMER_UNKNOWN, PRODUCT_UNKNOWN, ORDER_PRICE_DIFFERS, FIELD_INVALID, IDEMPOTENCY_KEY_REUSED
     */
    async place ({ customerId, lines: given, address }, requestId, correlationId) {
      const orderId = orderIdOf((await agreed()).secret, customerId, requestId)
      const wanted = mergeLines(given)
      const [customer, ...products] = await statesOf([customerKey(customerId), ...wanted.map(({ sku }) => productKey(sku))])
      const body = { orderId, status: 'pending' }
      try {
        if (customer.status === undefined) throw new FreshetError('CUSTOMER_UNKNOWN', 'there is no customer with this id')
        const prices = products.map(({ status, about }) => status === 'open' ? JSON.parse(about).price : null)
        const { lines, total } = pricedLines(wanted, prices)
        const args = ['place', customerId, String(total), JSON.stringify(lines), address, String(deadlineMs), correlationId]
        const decision = await run('step', orderKey(orderId), requestId, args, customerId)
        return { status: 201, body, isReplay: decision.isReplay || decision.code === 'exists' }
      } catch (error) {
        if (error.retryable) throw error
        // the catalogue may have changed since it was accepted
        const [known] = await statesOf([orderKey(orderId)])
        if (known.status === undefined) throw error
        throwIfOther(known, wanted, address)
        return { status: 201, body, isReplay: true }
      }
    },

    /** @param {string} orderId @param {string} requestId @throws {FreshetError} ORDER_UNKNOWN, ORDER_TOO_LATE */
    async cancel (orderId, requestId) {
      const { code, details, isReplay } = await run('step', orderKey(orderId), requestId, ['cancel_requested'])
      if (code === 'illegal' && !CANCELLED.includes(details.status)) {
        throw new FreshetError('ORDER_TOO_LATE', `the order is ${details.status}; it cannot be cancelled`, { step: details.status })
      }
      return { status: 202, body: { orderId, status: statusOf(details.status) }, isReplay }
    },

    /** The provider reports news of a payment: the owner of the order looks it up. @param {string} orderId */
    async noteCallback (orderId) {
      await submit({ rule: 'step', key: orderKey(orderId), scope: '', requestId: '', args: ['check'] })
    }
  }
}

/**
 * @param {Fields} order @param {import('./lines.js').Wanted[]} wanted @param {string} address
 * @throws {FreshetError} IDEMPOTENCY_KEY_REUSED
 */
function throwIfOther (order, wanted, address) {
  const units = (/** @type {{ sku: string, quantity: number }[]} */ lines) => lines.map(({ sku, quantity }) => `${sku} ${quantity}`).join()
  if (units(JSON.parse(order.lines)) !== units(wanted) || order.address !== address) throw otherBody('Idempotency-Key')
}
