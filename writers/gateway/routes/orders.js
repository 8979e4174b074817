/** Commands of orders: customers, products, orders, and callbacks of the payment provider. */
import {
  bodyOf, bodySchema, commandRoute, emailField, field, idField, ID_TEXT, minorUnits, moneyField, optional, readCommand,
  readRequestId, takeBodies, textField, wholeField
} from '../../../src/http/index.js'
import { callbackOf, MAX_LINES, SYSTEM } from '../../../src/systems/orders/index.js'
import { COMMAND_CODES, idOf, JSON_TYPE, MAX_BODY_BYTES, send } from './command.js'

const WRITE = /** @type {any} */ ({ access: 'write', system: SYSTEM })
const ADMIN = /** @type {any} */ ({ access: 'admin', system: SYSTEM })
/** the signature says who it is */
const SIGNED = /** @type {any} */ ({ access: 'public', system: SYSTEM })
const DAY_MS = 86_400_000
const MAX_UNITS = 1_000_000_000
const ID = /^[A-Za-z0-9_.:-]{1,64}$/
const MAX_SKU = 48
/** https://www.w3.org/TR/trace-context/ */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/

const SKU = field((value) => typeof value === 'string' && ID.test(value) && value.length <= MAX_SKU ? value : null,
  `1-${MAX_SKU} of A-Z a-z 0-9 _ . : -`, { type: 'string', pattern: `^[A-Za-z0-9_.:-]{1,${MAX_SKU}}$` })
const UNITS = wholeField(1, MAX_UNITS)
const MONEY = moneyField('of one unit').schema
const LINE = {
  type: 'object',
  additionalProperties: false,
  required: ['sku', 'quantity'],
  properties: {
    sku: SKU('').schema,
    quantity: UNITS('').schema,
    price: { ...MONEY, description: 'rejected if it is not that of the product' }
  }
}
const LINES = field(linesIn, `1 to ${MAX_LINES} lines {sku, quantity, price?}, a quantity from 1, a price with at most 2 decimal places`,
  { type: 'array', minItems: 1, maxItems: MAX_LINES, items: LINE })

const CUSTOMER = { email: emailField('of one customer only'), name: textField(200)(''), address: textField(1000)('') }
const PRODUCT = { sku: SKU(''), name: textField(200)(''), price: moneyField('of one unit'), quantity: wholeField(0, MAX_UNITS)('in stock') }
const RESERVE = {
  reservationId: idField('a repetition with it has no effect'),
  quantity: UNITS('units'),
  holdMs: optional(wholeField(1, DAY_MS)('ms until they are released; default: 60,000'))
}
const RELEASE = { reservationId: idField('of the reservation') }
const REPLENISH = { quantity: UNITS('more units') }
const ORDER = { customerId: idField('of the customer'), lines: LINES('lines with the same SKU become one'), address: textField(1000)('') }

/** @param {Record<string, object>} properties */
const objectOf = (properties) => ({ type: 'object', properties })
const STOCK = { sku: ID_TEXT, available: { type: 'integer' }, held: { type: 'integer' }, sold: { type: 'integer' } }
const RESERVED = objectOf({
  ...STOCK, reservationId: ID_TEXT, status: { type: 'string', enum: ['held', 'released'] }, holdUntil: { type: 'integer' }
})
const PLACED = objectOf({ orderId: ID_TEXT, status: { type: 'string', enum: ['pending', 'confirmed', 'cancelled'] } })

/**
 * @param {string} summary @param {object} body @param {Record<number, object>} content @param {string[]} codes
 * @param {Record<string, object>} [params]
 */
const route = (summary, body, content, codes, params = {}) =>
  commandRoute({ summary, tag: SYSTEM, params, body, content, codes: [...COMMAND_CODES, ...codes] })

/** @param {unknown} value @returns {import('../../../src/systems/orders/index.js').Wanted[] | null} */
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
 * @param {import('fastify').FastifyInstance} app
 * @param {{ orders: import('../../../src/systems/orders/index.js').Orders, room: import('../../../src/http/index.js').BodyRoom,
 *   paymentSecret: string | null, clock: () => number }} parts
 */
export async function orderRoutes (app, { orders, room, paymentSecret, clock }) {
  takeBodies(app, { types: [JSON_TYPE], maxBytes: MAX_BODY_BYTES, room })
  /** @param {import('fastify').FastifyRequest} request @param {any} fields @returns {any} */
  const read = (request, fields) => readCommand(request, fields)

  app.post('/v1/customers', {
    config: WRITE,
    schema: route('Create a customer', bodySchema(CUSTOMER), { 201: objectOf({ customerId: ID_TEXT }) }, ['CUSTOMER_EXISTS'])
  }, (request, response) => send(response, () => orders.createCustomer(read(request, CUSTOMER), readRequestId(request))))

  app.post('/v1/orders', {
    config: WRITE,
    schema: route('Place an order; its saga begins at once', bodySchema(ORDER), { 201: PLACED },
      ['CUSTOMER_UNKNOWN', 'PRODUCT_UNKNOWN', 'ORDER_PRICE_DIFFERS'])
  }, (request, response) => send(response, () =>
    orders.place(read(request, ORDER), readRequestId(request), correlationOf(request))))

  app.post('/v1/orders/:id/cancel', {
    config: WRITE,
    schema: route('Cancel an order, until its payment was requested', bodySchema({}), { 202: PLACED }, ['ORDER_UNKNOWN', 'ORDER_TOO_LATE'],
      { id: ID_TEXT })
  }, (request, response) => send(response, () => {
    if (request.body !== undefined) readCommand(request, {})
    return orders.cancel(idOf(request), readRequestId(request))
  }))

  app.post('/v1/payments/callbacks', {
    config: SIGNED,
    schema: route('News of a payment, signed by the provider', { type: 'object' }, { 204: { type: 'null' } }, ['CALLBACK_INVALID'])
  }, async (request, response) => {
    const body = bodyOf(request).bytes.toString()
    const order = callbackOf({ secret: paymentSecret, headers: request.headers, body, nowMs: clock() })
    if (order !== null && ID.test(order)) await orders.noteCallback(order)
    return response.code(204).send()
  })

  productRoutes(app, { orders, read })
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ orders: import('../../../src/systems/orders/index.js').Orders,
 *   read: (request: import('fastify').FastifyRequest, fields: any) => any }} parts
 */
function productRoutes (app, { orders, read }) {
  const PARAMS = { sku: ID_TEXT }
  const skuOf = (/** @type {import('fastify').FastifyRequest} */ request) => idOf(request, 'sku')
  /** The reservation's id is what makes a repetition harmless; a key is only checked. @param {import('fastify').FastifyRequest} request */
  function readReservation (request, /** @type {any} */ fields) {
    readRequestId(request)
    return read(request, fields)
  }

  app.post('/v1/products', {
    config: ADMIN,
    schema: route('Create a product', bodySchema(PRODUCT), { 201: objectOf(STOCK) }, ['PRODUCT_EXISTS'])
  }, (request, response) => send(response, () => orders.createProduct(read(request, PRODUCT), readRequestId(request))))

  app.post('/v1/products/:sku/reserve', {
    config: WRITE,
    schema: route('Hold units for a while', bodySchema(RESERVE), { 200: RESERVED },
      ['PRODUCT_UNKNOWN', 'PRODUCT_INSUFFICIENT', 'RESERVATION_ENDED'], PARAMS)
  }, (request, response) => send(response, () => orders.reserve(skuOf(request), readReservation(request, RESERVE))))

  app.post('/v1/products/:sku/release', {
    config: WRITE,
    schema: route('Give held units back', bodySchema(RELEASE), { 200: RESERVED }, ['PRODUCT_UNKNOWN', 'RESERVATION_ENDED'], PARAMS)
  }, (request, response) => send(response, () => orders.release(skuOf(request), readReservation(request, RELEASE))))

  app.post('/v1/products/:sku/replenish', {
    config: ADMIN,
    schema: route('More units', bodySchema(REPLENISH), { 200: objectOf(STOCK) }, ['PRODUCT_UNKNOWN'], PARAMS)
  }, (request, response) => send(response, () => orders.replenish(skuOf(request), read(request, REPLENISH), readRequestId(request))))

  app.delete('/v1/products/:sku', {
    config: ADMIN,
    schema: route('Delete a product of which no unit is held', bodySchema({}), { 200: objectOf(STOCK) },
      ['PRODUCT_UNKNOWN', 'PRODUCT_HELD'], PARAMS)
  }, (request, response) => send(response, () => {
    if (request.body !== undefined) readCommand(request, {})
    return orders.remove(skuOf(request), readRequestId(request))
  }))
}

/** The same when the request is repeated, because it is part of the command. @param {import('fastify').FastifyRequest} request */
function correlationOf ({ headers: { 'correlation-id': given, traceparent = '', 'idempotency-key': key }, id }) {
  if (key !== undefined) return String(key)
  if (typeof given === 'string' && ID.test(given)) return given
  const [, traceId] = TRACEPARENT.exec(String(traceparent)) ?? []
  return traceId ?? id
}
