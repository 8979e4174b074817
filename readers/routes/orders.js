/** Orders: queries, long polls and streams; products; sagas that run or are stuck. */
import { commandRoute, ID_TEXT, integer, NO_FIELDS, oneOf, querySchema, readId, readQuery } from '../../src/http/index.js'
import { SYSTEM } from '../../src/systems/orders/index.js'
import { FreshetError } from '../errors.js'
import { keyStreamRoute } from './live-stream.js'

/** while nothing of the system is stored */
const NONE = 'ORDER_UNKNOWN'
const READ = /** @type {any} */ ({ access: 'read', system: SYSTEM })
const ADMIN = /** @type {any} */ ({ access: 'admin', system: SYSTEM })
const MAX_WAIT_MS = 30_000
const MAX_LISTED = 1000
const LISTED = 100
const TIME = { type: 'integer', description: 'milliseconds since 1970' }
/** @param {Record<string, object>} properties */
const objectOf = (properties) => ({ type: 'object', properties })
/** @param {object} items */
const listOf = (items) => objectOf({ items: { type: 'array', items } })

const STATUS = { type: 'string', enum: ['pending', 'confirmed', 'cancelled'] }
const STEP = { type: 'string', enum: ['placed', 'held', 'capturing', 'captured', 'confirmed', 'cancelling', 'cancelled'] }
const REASON = { type: 'string', description: 'why it was, or is being, cancelled' }
const STUCK = { type: 'string', description: 'why its owner gave up; its dead letter can be replayed' }
const ORDER = objectOf({
  orderId: ID_TEXT,
  status: STATUS,
  version: { type: 'integer', description: 'number of its last event' },
  step: STEP,
  total: { type: 'string', description: 'decimal' },
  lines: { type: 'array', items: objectOf({ sku: ID_TEXT, quantity: { type: 'integer' }, price: { type: 'string' } }) },
  reason: REASON,
  stuck: STUCK
})
const EVENT = objectOf({
  version: { type: 'integer' }, type: { type: 'string' }, step: STEP, status: STATUS, at: TIME, reason: REASON, stuck: STUCK
})
const TIMELINE = objectOf({
  orderId: ID_TEXT,
  step: STEP,
  placedAt: TIME,
  tookMs: { type: 'integer' },
  steps: { type: 'array', items: objectOf({ type: { type: 'string' }, at: TIME, afterMs: { type: 'integer' } }) }
})
const PRODUCT = objectOf({
  sku: ID_TEXT,
  name: { type: 'string' },
  price: { type: 'string', description: 'decimal' },
  available: { type: 'integer' },
  held: { type: 'integer' },
  sold: { type: 'integer' }
})
const SAGA = objectOf({ ...ORDER.properties, placedAt: TIME, deadline: TIME })

const NUMBER = { type: ['number', 'null'] }
const FIGURES = objectOf({
  placedPerSecond: NUMBER,
  confirmedPerSecond: NUMBER,
  cancelledPerSecond: NUMBER,
  confirmedMsP50: NUMBER,
  confirmedMsP95: NUMBER,
  running: { type: 'integer' },
  deadLetters: { type: 'integer' },
  steps: {
    type: 'array',
    items: objectOf({ step: STEP, orders: { type: ['integer', 'null'] }, recent: { type: 'array', items: ID_TEXT } })
  },
  replicas: {
    type: 'array',
    items: objectOf({
      id: { type: 'string' },
      cpuPercent: { type: 'number', description: 'of one core' },
      partitions: { type: 'integer' },
      driven: { type: 'integer', description: 'orders at the moment' },
      breaker: { type: 'string', description: 'of the payment provider' },
      paymentUrl: { type: ['string', 'null'], description: 'of a provider on this machine' }
    })
  }
})

const WAIT = {
  waitMs: integer(0, MAX_WAIT_MS, { description: 'waits as long for a final status, or for minVersion', default: 0 }),
  minVersion: integer(1, Number.MAX_SAFE_INTEGER, { description: 'the version to wait for' })
}
const SAGAS = {
  status: oneOf(['running', 'stuck'], { description: 'stuck: its owner gave up' }),
  limit: integer(1, MAX_LISTED, { description: 'orders', default: LISTED })
}

/** @param {string} summary @param {object} content @param {Parameters<typeof querySchema>[0]} fields @param {string} [type] */
const route = (summary, content, fields, type) => commandRoute({
  summary,
  tag: SYSTEM,
  params: { id: ID_TEXT },
  query: querySchema(fields),
  content: { 200: content },
  type,
  codes: ['ORDER_UNKNOWN', 'DATABASE_DOWN', 'DATABASE_TIMEOUT']
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ systems: ReturnType<typeof import('../systems.js').openSystems>, push: import('../../src/push/index.js').Push,
 *   access: import('../../src/http/index.js').Access | null }} parts
 */
export async function orderRoutes (app, { systems, push, access }) {
  app.addHook('onSend', async (_request, reply) => { reply.header('cache-control', 'no-store') })
  const opened = () => systems.orders(push)

  app.get('/v1/orders/:id', { config: READ, schema: route('An order', ORDER, WAIT) }, async (request) => {
    const { waitMs, minVersion } = /** @type {any} */ (readQuery(request, WAIT))
    return (await opened()).queries.order(idOf(request), { waitMs, minVersion })
  })

  for (const [what, summary, schema] of /** @type {const} */ ([
    ['events', 'Its events, the first first', listOf(EVENT)], ['timeline', 'When each of its steps was', TIMELINE]
  ])) {
    app.get(`/v1/orders/:id/${what}`, { config: READ, schema: route(summary, schema, NO_FIELDS) }, async (request) => {
      readQuery(request, NO_FIELDS)
      return (await opened()).queries[what](idOf(request))
    })
  }

  app.get('/v1/products/:sku', {
    config: READ,
    schema: commandRoute({
      summary: 'A product',
      tag: SYSTEM,
      params: { sku: ID_TEXT },
      query: querySchema(NO_FIELDS),
      content: { 200: PRODUCT },
      codes: ['PRODUCT_UNKNOWN']
    })
  }, async (request) => {
    readQuery(request, NO_FIELDS)
    const sku = readId(/** @type {any} */ (request.params).sku, 'sku')
    const { queries } = await opened().catch((error) => {
      throw error.code === NONE ? new FreshetError('PRODUCT_UNKNOWN', 'there is no product with this SKU') : error
    })
    return queries.product(sku)
  })

  app.get('/v1/sagas', {
    config: ADMIN,
    schema: commandRoute({
      summary: 'Orders that are being driven, or that their owner gave up',
      tag: SYSTEM,
      query: querySchema(SAGAS),
      content: { 200: listOf(SAGA) },
      codes: []
    })
  }, async (request) => {
    const { status, limit } = /** @type {any} */ (readQuery(request, SAGAS))
    return opened().then(({ queries }) => queries.sagas(status, limit), (error) => {
      if (error.code === NONE) return { items: [] }
      throw error
    })
  })

  app.get('/v1/sagas/figures', {
    config: READ,
    schema: commandRoute({
      summary: 'Rates and times of the last ten seconds, the last orders at each step, and the processes that drive them',
      tag: SYSTEM,
      query: querySchema(NO_FIELDS),
      content: { 200: FIGURES },
      codes: ['ORDER_UNKNOWN']
    })
  }, async (request) => {
    readQuery(request, NO_FIELDS)
    return (await opened()).queries.figures()
  })

  keyStreamRoute(app, '/v1/orders/:id/live', {
    system: SYSTEM,
    config: READ,
    schema: route('The order, then its events: `snapshot`, `step`, `reset`; resumes after Last-Event-ID', EVENT, NO_FIELDS,
      'text/event-stream'),
    push,
    access,
    opened
  })
}

/** @param {import('fastify').FastifyRequest} request */
const idOf = ({ params }) => readId(/** @type {any} */ (params).id, 'id')
