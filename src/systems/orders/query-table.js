/** The queries of orders as routes: orders with long polls and a stream, products, sagas that run or are parked. */
import { ID_TEXT, oneOf } from '../../http/index.js'
import { AMOUNT, COUNT, limitField, listOf, objectOf, SEQ, sinceFields, TIME, USER_FIELDS } from '../schemas.js'
import { FreshetError } from './errors.js'
import { orderKey } from './keys.js'
import { orderOf, stepOf } from './replies.js'

const WAIT_MS = 0
const STATUS = { type: 'string', enum: ['pending', 'confirmed', 'cancelled'] }
const STEP = { type: 'string', enum: ['placed', 'held', 'capturing', 'captured', 'confirmed', 'cancelling', 'cancelled'] }
const REASON = { type: 'string', description: 'why it was, or is being, cancelled' }
const STUCK = { type: 'string', description: 'why its owner gave up; its dead letter can be replayed' }
const ORDER = objectOf({
  orderId: ID_TEXT,
  status: STATUS,
  seq: SEQ,
  step: STEP,
  total: AMOUNT,
  lines: { type: 'array', items: objectOf({ sku: ID_TEXT, quantity: COUNT, price: AMOUNT }) },
  reason: REASON,
  stuck: STUCK
})
const EVENT = objectOf({ seq: SEQ, type: { type: 'string' }, step: STEP, status: STATUS, at: TIME, reason: REASON, stuck: STUCK })
const TIMELINE = objectOf({
  orderId: ID_TEXT,
  step: STEP,
  placedAt: TIME,
  tookMs: COUNT,
  steps: { type: 'array', items: objectOf({ type: { type: 'string' }, at: TIME, afterMs: COUNT }) }
})
const PRODUCT = objectOf({ sku: ID_TEXT, name: { type: 'string' }, price: AMOUNT, available: COUNT, held: COUNT, sold: COUNT })
const SAGA = objectOf({ ...ORDER.properties, placedAt: TIME, deadline: TIME })
const ANY = { type: 'object' }

const NUMBER = { type: ['number', 'null'] }
const WORKER = objectOf({
  id: { type: 'string' },
  cpuPercent: { type: 'number', description: 'of one core' },
  partitions: COUNT,
  driven: { ...COUNT, description: 'orders at the moment' },
  breaker: { type: 'string', description: 'of the payment provider' },
  paymentUrl: { type: ['string', 'null'], description: 'of a provider on this machine' }
})
const FIGURES = objectOf({
  placedPerSecond: NUMBER,
  confirmedPerSecond: NUMBER,
  cancelledPerSecond: NUMBER,
  confirmedMsP50: NUMBER,
  confirmedMsP95: NUMBER,
  running: COUNT,
  deadLetters: COUNT,
  steps: {
    type: 'array', items: objectOf({ step: STEP, orders: { type: ['integer', 'null'] }, recent: { type: 'array', items: ID_TEXT } })
  },
  replicas: { type: 'array', items: WORKER }
})
const ORDER_CODES = ['ORDER_UNKNOWN', 'DATABASE_DOWN', 'DATABASE_TIMEOUT']

/** @type {import('../definition.js').System['queries']} */
export const QUERIES = {
  one: {
    path: '/v1/orders/:id',
    summary: 'An order',
    fields: sinceFields(WAIT_MS, 'a final status'),
    reply: ORDER,
    codes: ORDER_CODES,
    run: ({ params: { id }, query }, orders) => orders.order(id, query)
  },
  events: {
    path: '/v1/orders/:id/events',
    summary: 'Its events, the oldest first',
    reply: listOf(EVENT),
    codes: ORDER_CODES,
    run: ({ params: { id } }, orders) => orders.events(id)
  },
  timeline: {
    path: '/v1/orders/:id/timeline',
    summary: 'When each of its steps was',
    reply: TIMELINE,
    codes: ORDER_CODES,
    run: ({ params: { id } }, orders) => orders.timeline(id)
  },
  byRequest: {
    path: '/v1/orders/:id/by-request/:key',
    summary: 'The reply of an accepted command, from the primary; the user of an order is its customer',
    fields: USER_FIELDS,
    reply: ANY,
    replies: { 201: ANY, 202: ANY },
    codes: ['ORDER_UNKNOWN', 'REQUEST_NOT_ACCEPTED'],
    async run ({ params: { id, key }, query: { userId } }, orders, reply) {
      const { status, body } = await orders.byRequest(id, userId ?? '', key)
      return reply.code(status).send(body)
    }
  },
  product: {
    path: '/v1/products/:sku',
    summary: 'A product',
    reply: PRODUCT,
    codes: ['PRODUCT_UNKNOWN'],
    none () { throw new FreshetError('PRODUCT_UNKNOWN', 'there is no product with this SKU') },
    run: ({ params: { sku } }, orders) => orders.product(sku)
  },
  sagas: {
    path: '/v1/sagas',
    access: 'admin',
    summary: 'Orders that are being driven, or that their owner gave up',
    fields: { status: oneOf(['running', 'stuck'], { description: 'stuck: its owner gave up' }), limit: limitField('orders') },
    reply: listOf(SAGA),
    none: () => ({ items: [] }),
    run: ({ query: { status, limit } }, orders) => orders.sagas(status, limit)
  },
  figures: {
    path: '/v1/sagas/figures',
    summary: 'Rates and times of the last ten seconds, the last orders at each step, and the processes that drive them',
    reply: FIGURES,
    codes: ['ORDER_UNKNOWN'],
    run: (_given, orders) => orders.figures()
  }
}

/** @type {import('../definition.js').StreamRow} */
export const STREAM = {
  path: '/v1/orders/:id/live',
  summary: 'The order, then its events: `snapshot`, `step`, `reset`; resumes after Last-Event-ID',
  reply: EVENT,
  codes: ORDER_CODES,
  keyOf: orderKey,
  snapshot: orderOf,
  event: (event) => ({ name: 'step', data: stepOf(event) })
}
