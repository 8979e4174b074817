/** The commands of orders as routes: customers, products, orders, and callbacks of the payment provider. */
import { field, ID_TEXT, idField, isText, optional, textField, wholeField } from '../../http/index.js'
import { minorUnits, moneyField } from '../money.js'
import { COUNT, objectOf } from '../schemas.js'
import { MAX_LINES } from './lines.js'
import { callbackOf } from './payments/callbacks.js'

const DAY_MS = 86_400_000
const MAX_UNITS = 1_000_000_000
const MAX_SKU = 48
const MAX_EMAIL = 254
/** whether an address exists is not checked */
const EMAIL = /^[^\s@]+@[^\s@]+$/
const ID = new RegExp(ID_TEXT.pattern)
/** https://www.w3.org/TR/trace-context/ */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/

const SKU = field((value) => typeof value === 'string' && ID.test(value) && value.length <= MAX_SKU ? value : null,
  `1-${MAX_SKU} of A-Z a-z 0-9 _ . : -`, { type: 'string', pattern: `^[A-Za-z0-9_.:-]{1,${MAX_SKU}}$` })
const UNITS = wholeField(1, MAX_UNITS)
const LINE = {
  type: 'object',
  additionalProperties: false,
  required: ['sku', 'quantity'],
  properties: {
    sku: SKU('').schema, quantity: UNITS('').schema, price: moneyField('rejected if it is not that of the product').schema
  }
}
const LINES = field(linesIn, `1 to ${MAX_LINES} lines {sku, quantity, price?}, a quantity from 1, a price with at most 2 decimal places`,
  { type: 'array', minItems: 1, maxItems: MAX_LINES, items: LINE })
const EMAIL_FIELD = field((value) => typeof value === 'string' && isText(value, MAX_EMAIL) && EMAIL.test(value) ? value : null,
  'an email address', { type: 'string', maxLength: MAX_EMAIL })

const STOCK = { sku: ID_TEXT, available: COUNT, held: COUNT, sold: COUNT }
const STOCK_REPLY = { 200: objectOf(STOCK) }
const RESERVED = {
  200: objectOf({ ...STOCK, reservationId: ID_TEXT, status: { type: 'string', enum: ['held', 'released'] }, holdUntil: COUNT })
}
const PLACED = objectOf({ orderId: ID_TEXT, status: { type: 'string', enum: ['pending', 'confirmed', 'cancelled'] } })

/** @param {unknown} value @returns {import('./lines.js').Wanted[] | null} */
function linesIn (value) {
  if (!Array.isArray(value) || value.length < 1 || value.length > MAX_LINES) return null
  const lines = value.map((line) => {
    const { sku, quantity, price, ...rest } = Object(line)
    const minor = price === undefined ? null : minorUnits(price)
    const isLine = SKU('').read(sku) !== null && UNITS('').read(quantity) !== null && Object.keys(rest).length === 0
    return isLine && (price === undefined || minor !== null) ? { sku, quantity, price: minor } : null
  })
  return lines.some((line) => line === null) ? null : /** @type {any} */ (lines)
}

/**
 * The same when the request is repeated, because it is part of the command.
 * @param {Pick<import('../../http/index.js').Given, 'headers' | 'id'>} given
 */
function correlationOf ({ headers: { 'correlation-id': given, traceparent = '', 'idempotency-key': key }, id }) {
  if (key !== undefined) return String(key)
  if (typeof given === 'string' && ID.test(given)) return given
  const [, traceId] = TRACEPARENT.exec(String(traceparent)) ?? []
  return traceId ?? id
}

/** @type {import('../definition.js').System['commands']} */
export const COMMANDS = {
  createCustomer: {
    path: '/v1/customers',
    summary: 'Create a customer',
    body: { email: EMAIL_FIELD('of one customer only'), name: textField(200)(''), address: textField(1000)('') },
    replies: { 201: objectOf({ customerId: ID_TEXT }) },
    codes: ['CUSTOMER_EXISTS'],
    run: ({ body, requestId }, orders) => orders.createCustomer(body, requestId)
  },
  place: {
    path: '/v1/orders',
    summary: 'Place an order; its saga begins at once',
    body: { customerId: idField('of the customer'), lines: LINES('lines with the same SKU become one'), address: textField(1000)('') },
    replies: { 201: PLACED },
    codes: ['CUSTOMER_UNKNOWN', 'PRODUCT_UNKNOWN', 'ORDER_PRICE_DIFFERS'],
    run: (given, orders) => orders.place(given.body, given.requestId, correlationOf(given))
  },
  cancel: {
    path: '/v1/orders/:id/cancel',
    summary: 'Cancel an order, until its payment was requested',
    replies: { 202: PLACED },
    codes: ['ORDER_UNKNOWN', 'ORDER_TOO_LATE'],
    run: ({ params: { id }, requestId }, orders) => orders.cancel(id, requestId)
  },
  callback: {
    path: '/v1/payments/callbacks',
    // the signature proves the sender
    access: 'public',
    summary: 'News of a payment, signed by the provider',
    isRaw: true,
    replies: { 204: { type: 'null' } },
    codes: ['CALLBACK_INVALID'],
    async run ({ body, headers }, { paymentSecret: secret, noteCallback }) {
      const order = callbackOf({ secret, headers, body, nowMs: Date.now() })
      if (order !== null && ID.test(order)) await noteCallback(order)
      return { status: 204 }
    }
  },
  createProduct: {
    path: '/v1/products',
    access: 'admin',
    summary: 'Create a product',
    body: { sku: SKU(''), name: textField(200)(''), price: moneyField('of one unit'), quantity: wholeField(0, MAX_UNITS)('in stock') },
    replies: { 201: objectOf(STOCK) },
    codes: ['PRODUCT_EXISTS'],
    run: ({ body, requestId }, orders) => orders.createProduct(body, requestId)
  },
  reserve: {
    path: '/v1/products/:sku/reserve',
    summary: 'Hold units for a while',
    body: {
      reservationId: idField('a repetition with it has no effect'),
      quantity: UNITS('units'),
      holdMs: optional(wholeField(1, DAY_MS)('ms until they are released; default: 60,000'))
    },
    replies: RESERVED,
    codes: ['PRODUCT_UNKNOWN', 'PRODUCT_INSUFFICIENT', 'RESERVATION_ENDED'],
    run: ({ params: { sku }, body }, orders) => orders.reserve(sku, body)
  },
  release: {
    path: '/v1/products/:sku/release',
    summary: 'Give held units back',
    body: { reservationId: idField('of the reservation') },
    replies: RESERVED,
    codes: ['PRODUCT_UNKNOWN', 'RESERVATION_ENDED'],
    run: ({ params: { sku }, body }, orders) => orders.release(sku, body)
  },
  replenish: {
    path: '/v1/products/:sku/replenish',
    access: 'admin',
    summary: 'More units',
    body: { quantity: UNITS('more units') },
    replies: STOCK_REPLY,
    codes: ['PRODUCT_UNKNOWN'],
    run: ({ params: { sku }, body, requestId }, orders) => orders.replenish(sku, body, requestId)
  },
  remove: {
    method: 'DELETE',
    path: '/v1/products/:sku',
    access: 'admin',
    summary: 'Delete a product of which no unit is held',
    replies: STOCK_REPLY,
    codes: ['PRODUCT_UNKNOWN', 'PRODUCT_HELD'],
    run: ({ params: { sku }, requestId }, orders) => orders.remove(sku, requestId)
  }
}
