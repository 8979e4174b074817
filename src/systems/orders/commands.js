/** Commands of customers and orders, and callbacks of the payment provider. */
import { decisions, fields, moneyText, schemas } from 'freshet-feed/systems'
import { FreshetError } from './errors.js'
import { customerIdOf, customerKey, orderIdOf, orderKey, productKey } from './keys.js'
import { ordersOf } from './payments/callbacks.js'
import { PRODUCT_COMMANDS, SKU, UNITS } from './products.js'
import { expectAccepted, statusOf } from './replies.js'

/** @import { Command, GatewayParts, Given, Reply, System } from 'freshet-feed/systems' */

/**
 * The lines of an order.
 *
 * @typedef {{ sku: string, quantity: number, price: number }} Line minor units
 * @typedef {{ sku: string, quantity: number, price: number | null }} RequestedLine null: that of the catalogue
 */

const MAX_LINES = 100

/**
 * Lines of the same SKU become one.
 * @param {RequestedLine[]} lines @returns {RequestedLine[]}
 */
function mergeLines (lines) {
  /** @type {Map<string, RequestedLine>} */
  const merged = new Map()
  for (const { sku, quantity, price } of lines) {
    const before = merged.get(sku)
    if (before && before.price !== price) throw invalid(`${sku} with two prices`, 'one price for each SKU')
    merged.set(sku, { sku, quantity: quantity + (before?.quantity ?? 0), price })
  }
  return [...merged.values()]
}

/**
 * @param {RequestedLine[]} lines @param {(number | null)[]} prices of the catalogue, null: there is no such product
 * @returns {{ lines: Line[], total: number }}
 * @throws {FreshetError} PRODUCT_UNKNOWN, ORDER_PRICE_DIFFERS, FIELD_INVALID
 */
function pricedLines (lines, prices) {
  const priced = lines.map(({ sku, quantity, price: askedPrice }, i) => {
    const price = prices[i]
    if (price === null) throw new FreshetError('PRODUCT_UNKNOWN', `there is no product ${sku}; create it with PUT`, { sku })
    if (askedPrice !== null && askedPrice !== price) {
      throw new FreshetError('ORDER_PRICE_DIFFERS', `${sku} costs ${moneyText(price)}, not ${moneyText(askedPrice)}; order at that price`,
        { sku, price: moneyText(price) })
    }
    return { sku, quantity, price }
  })
  const total = priced.reduce((sum, { quantity, price }) => sum + quantity * price, 0)
  if (!Number.isSafeInteger(total)) throw invalid('a total above 90 trillion', 'a smaller order')
  return { lines: priced, total }
}

/** @param {string} received @param {string} expected */
const invalid = (received, expected) => fields.invalid([{ field: 'lines', received, expected }])

const { id: idField, money, optional, own, text } = fields
const { id: ID_TEXT, objectOf, seq: SEQ } = schemas

/** The cancellation of an order with one of these statuses has begun. */
const CANCELLED = Object.freeze(['cancelling', 'cancelled'])
const MAX_EMAIL = 254
/** Whether an address exists is not checked. */
const EMAIL = '^[^\\s@\\u0000]+@[^\\s@\\u0000]+$'
const ID = new RegExp(/** @type {any} */ (ID_TEXT).pattern)
/** The header of https://www.w3.org/TR/trace-context/. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/

const PRICE = money('rejected if it is not that of the product')
const LINE = { sku: SKU(''), quantity: UNITS(''), price: optional(PRICE) }
const LINES = own(linesIn, `1 to ${MAX_LINES} lines {sku, quantity, price?}, a quantity from 1, a price with at most 2 decimal places`,
  { type: 'array', minItems: 1, maxItems: MAX_LINES, items: fields.schemaOf(LINE) })
const EMAIL_FIELD = own(null, 'an email address', { type: 'string', maxLength: MAX_EMAIL, pattern: EMAIL, wellFormed: true })
const WAIT = {
  type: ['integer', 'null'],
  description: 'for how long the oldest unfinished order of its partition has waited, ms; null: no consumer drives orders now'
}
const PLACED = objectOf({ id: ID_TEXT, status: { type: 'string', enum: ['pending', 'confirmed', 'cancelled'] }, seq: SEQ })

/** @param {any} value lines of this schema @returns {RequestedLine[] | null} */
function linesIn (value) {
  const lines = value.map((/** @type {any} */ { price, ...line }) => ({ ...line, price: price === undefined ? null : PRICE.read(price) }))
  const isRight = lines.every((/** @type {any} */ { price }, /** @type {number} */ i) => price !== null || value[i].price === undefined)
  return isRight ? lines : null
}

/**
 * In the logs of everything that follows. It is the same when the request is repeated, because it is part of the command.
 * @param {Pick<Given, 'headers' | 'id'>} correlation
 */
function correlationOf ({ headers: { 'correlation-id': correlation, traceparent = '', 'idempotency-key': key }, id }) {
  if (key !== undefined) return String(key)
  if (typeof correlation === 'string' && ID.test(correlation)) return correlation
  const [, traceId] = TRACEPARENT.exec(String(traceparent)) ?? []
  return traceId ?? id
}

/** @typedef {ReturnType<typeof createOrders>} Orders */

/**
 * What commands run on.
 * @param {Pick<GatewayParts, 'submit' | 'agreed' | 'stateOf' | 'settings'>} parts
 */
export const createOrders = ({ submit, agreed, stateOf, settings: { orderDeadlineMs, keepMs, paymentSecret = null } }) => ({
  submit,
  stateOf,
  paymentSecret,
  /** Time within which the payment of an order must be requested. */
  deadlineMs: String(orderDeadlineMs),
  /** Products remember a claim after its end for as long as its order is kept. */
  rememberMs: String(keepMs),
  secret: async () => (await agreed()).secret,

  /**
   * @param {string} rule @param {string} key @param {string} requestId or empty @param {string[]} args
   * @param {Partial<Command>} [more]
   */
  decide: async (rule, key, requestId, args, more) => expectAccepted(await submit({ rule, key, scope: '', requestId, args, ...more }), rule)
})

/** @type {System['commands']} */
export const COMMANDS = {
  createCustomer: {
    path: '/v1/customers',
    summary: 'Create a customer',
    body: { email: EMAIL_FIELD('of one customer only'), name: text(200)(''), address: text(1000)('') },
    schemas: { 201: objectOf({ id: ID_TEXT }) },
    codes: ['CUSTOMER_EXISTS'],
    async run ({ body, requestId }, { secret, decide }) {
      const id = customerIdOf(await secret(), body.email)
      const { code, isReplay } = await decide('once', customerKey(id), requestId, ['create', JSON.stringify(body)])
      if (code === 'exists') {
        throw new FreshetError('CUSTOMER_EXISTS', 'another customer has this email; use that customer, or another email')
      }
      return { status: 201, body: { id }, isReplay }
    }
  },
  place: {
    path: '/v1/orders',
    summary: 'Place an order; its saga begins at once',
    body: { customerId: idField('of the customer'), lines: LINES('lines with the same SKU become one'), address: text(1000)('') },
    schemas: { 201: objectOf({ ...PLACED.properties, waitMs: WAIT }) },
    codes: ['CUSTOMER_UNKNOWN', 'PRODUCT_UNKNOWN', 'ORDER_PRICE_DIFFERS'],
    run: place
  },
  cancel: {
    path: '/v1/orders/:id/cancel',
    summary: 'Cancel an order, until its payment was requested',
    schemas: { 202: PLACED },
    codes: ['ORDER_UNKNOWN', 'ORDER_TOO_LATE'],
    async run ({ params: { id }, requestId }, { decide }) {
      const { code, seq, details: { status }, isReplay } = await decide('step', orderKey(id), requestId, ['cancel_requested'])
      if (code === 'illegal' && !CANCELLED.includes(status)) {
        throw new FreshetError('ORDER_TOO_LATE', `the order is ${status}; it cannot be cancelled`, { step: status })
      }
      return { status: 202, body: { id, status: statusOf(status), seq }, isReplay }
    }
  },
  callback: {
    path: '/v1/payments/callbacks',
    // the signature proves the sender
    access: 'public',
    summary: 'News of payments, signed by the provider: the owner of the order looks it up',
    isRaw: true,
    schemas: { 204: { type: 'null' } },
    codes: ['CALLBACK_INVALID', 'CALLBACK_TOO_LARGE'],
    async run ({ body, headers }, { paymentSecret: secret, submit, stateOf }) {
      const keys = ordersOf({ secret, headers, body, nowMs: Date.now() }).filter((id) => ID.test(id)).map(orderKey)
      await Promise.all(keys.map(async (key) => {
        // most are about an order that is confirmed, or being driven: the rule would reject them
        const { status, parked } = await stateOf(key, { fields: ['status', 'parked'] })
        if (status === 'cancelled' || parked) await submit({ rule: 'step', key, scope: '', requestId: '', args: ['check'] })
      }))
      return { status: 204 }
    }
  },
  ...PRODUCT_COMMANDS
}

/**
 * @param {Given} request @param {Orders} orders @returns {Promise<Reply>}
 * @throws {FreshetError} CUSTOMER_UNKNOWN, PRODUCT_UNKNOWN, ORDER_PRICE_DIFFERS, FIELD_INVALID, IDEMPOTENCY_KEY_REUSED
 */
async function place (request, { secret, stateOf, decide, deadlineMs }) {
  const { body: { customerId, lines, address }, requestId } = request
  const id = orderIdOf(await secret(), customerId, requestId)
  const requestedLines = mergeLines(lines)
  const [customer, ...products] = await Promise.all([
    stateOf(customerKey(customerId), { fields: ['status'] }),
    ...requestedLines.map(({ sku }) => stateOf(productKey(sku), { fields: ['status', 'about'] }))
  ])
  try {
    if (customer.status === undefined) {
      throw new FreshetError('CUSTOMER_UNKNOWN', `there is no customer ${customerId}; create one with POST /v1/customers`)
    }
    const prices = products.map(({ status, about }) => status === 'open' ? JSON.parse(about).price : null)
    const { lines: priced, total } = pricedLines(requestedLines, prices)
    const args = ['place', customerId, String(total), JSON.stringify(priced), address, deadlineMs, correlationOf(request)]
    const { code, isReplay, waitMs } = await decide('step', orderKey(id), requestId, args, { scope: customerId, startsWork: true })
    return placed(id, isReplay || code === 'exists', waitMs)
  } catch (error) {
    if (error.retryable) throw error
    // the catalogue may have changed since it was accepted
    const stored = await stateOf(orderKey(id))
    if (stored.status === undefined) throw error
    const isSame = unitsIn(JSON.parse(stored.lines)) === unitsIn(requestedLines) && stored.address === address
    if (!isSame) throw decisions.otherBody('Idempotency-Key')
    return placed(id, true)
  }
}

/** Placing is the first event of an order. @param {string} id @param {boolean} isReplay @param {number | null} [waitMs] */
const placed = (id, isReplay, waitMs = null) => ({ status: 201, body: { id, status: 'pending', seq: 1, waitMs }, isReplay })

/** @param {{ sku: string, quantity: number }[]} lines */
const unitsIn = (lines) => lines.map(({ sku, quantity }) => `${sku} ${quantity}`).join()
