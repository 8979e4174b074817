/** Sales: queries, places in the queue, and both as streams. */
import { commandRoute, ID_TEXT, integer, NO_FIELDS, querySchema, readId, readQuery, readTicket, text } from '../../src/http/index.js'
import { attachStream } from './live-stream.js'

const TAG = 'sales'
const READ = /** @type {any} */ ({ access: 'read', system: TAG })
const MAX_SEQ = Number.MAX_SAFE_INTEGER
const MAX_PAGE = 1000
const PAGE = 100
const MAX_LISTED = 100
const LISTED = 20
const MAX_WAIT_MS = 30_000
/** the share of the estimated time after which it is worth to ask again */
const ASK_TIMES = 3
const MAX_ASK_S = 30
const TIME = { type: 'integer', description: 'milliseconds since 1970' }
const COUNT = { type: 'integer', description: 'units' }
/** @param {Record<string, object>} properties */
const objectOf = (properties) => ({ type: 'object', properties })

const SALE = objectOf({
  id: ID_TEXT,
  status: { type: 'string', enum: ['scheduled', 'open', 'paused', 'sold_out', 'restoring', 'closed'] },
  mode: { type: 'string', enum: ['direct', 'queue', 'token'] },
  stock: COUNT,
  available: COUNT,
  held: COUNT,
  sold: COUNT,
  orderRows: { type: ['integer', 'null'], description: 'orders in the database; null: not known' },
  perUser: COUNT,
  openAt: TIME,
  closeAt: TIME,
  holdMs: { type: 'integer' },
  admitConcurrency: { type: 'integer' },
  queued: { type: 'integer', description: 'people who have joined the queue' },
  waiting: { type: 'integer', description: 'people who are in the queue; not in lists' },
  generation: { type: 'string', description: 'of the history: sequence numbers of another one cannot be compared' },
  seq: { type: 'integer', description: 'number of the last event' },
  asOf: TIME
})
const CLAIM = objectOf({
  claimId: ID_TEXT,
  userId: { type: 'string', description: 'masked' },
  seq: { type: 'integer', description: 'number of its first event' },
  quantity: COUNT,
  status: { type: 'string', enum: ['held', 'pending', 'sold', 'released', 'revoked', 'expired', 'left'] }
})
const PLACE = objectOf({
  status: { type: 'string', enum: ['waiting', 'admitted', 'claimed', 'sold_out', 'expired', 'left', 'unknown'] },
  position: { type: 'integer', description: 'from 1' },
  etaMs: { type: 'integer', description: 'estimated time to admission' },
  until: { ...TIME, description: 'end of the admission' },
  claimId: ID_TEXT
})

const SINCE = {
  minSeq: integer(0, MAX_SEQ, { description: 'waits up to 500 ms until events up to this number are known, then asks the primary' })
}
const HISTORY = {
  after: integer(1, MAX_SEQ, { description: 'only claims after this sequence number: `next` of the page before' }),
  limit: integer(1, MAX_PAGE, { description: 'claims of a page', default: PAGE })
}
const LIST = { limit: integer(1, MAX_LISTED, { description: 'sales', default: LISTED }) }
const WAIT = { waitMs: integer(0, MAX_WAIT_MS, { description: 'waits as long for another status than waiting', default: 0 }) }
const WHOSE = {
  userId: text((given) => readId(given, 'userId'), { description: 'the user of the command', expects: 'an id', schema: ID_TEXT })
}

/**
 * @param {string} summary @param {object} content @param {Parameters<typeof querySchema>[0]} fields
 * @param {{ codes?: string[], params?: Record<string, object>, type?: string }} [more]
 */
const route = (summary, content, fields, { codes = [], params = {}, type } = {}) => commandRoute({
  summary,
  tag: TAG,
  params: { id: ID_TEXT, ...params },
  query: querySchema(fields),
  content: { 200: content },
  type,
  codes: ['SALE_UNKNOWN', ...codes]
})
const TICKET_CODES = { codes: ['TICKET_MISSING', 'TICKET_INVALID'], params: { userId: ID_TEXT } }

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ systems: ReturnType<typeof import('../systems.js').openSystems>, push: import('../../src/push/index.js').Push,
 *   access: import('../../src/http/index.js').Access | null }} parts
 */
export async function saleRoutes (app, { systems, push, access }) {
  app.addHook('onSend', async (_request, reply) => { reply.header('cache-control', 'no-store') })
  const opened = () => systems.sales(push)

  app.get('/v1/sales', {
    config: READ,
    schema: commandRoute({
      summary: 'Sales that are not closed, the next to close first',
      tag: TAG,
      query: querySchema(LIST),
      content: { 200: objectOf({ items: { type: 'array', items: SALE } }) },
      codes: []
    })
  }, async (request) => {
    const { limit } = readQuery(request, LIST)
    return opened().then(({ queries }) => queries.open(limit), (error) => {
      if (error.code === 'SALE_UNKNOWN') return { items: [] }
      throw error
    })
  })

  app.get('/v1/sales/:id', { config: READ, schema: route('A sale', SALE, SINCE) }, async (request) => {
    const { minSeq } = readQuery(request, SINCE)
    return (await opened()).queries.sale(idOf(request), minSeq ?? 0)
  })

  app.get('/v1/sales/:id/claims', {
    config: READ,
    schema: route('Its claims, the first first', objectOf({
      items: { type: 'array', items: CLAIM }, next: { type: ['string', 'null'], description: 'for `after`' }
    }), HISTORY)
  }, async (request) => (await opened()).queries.claims(idOf(request), /** @type {any} */ (readQuery(request, HISTORY))))

  app.get('/v1/sales/:id/claims/:claim', {
    config: READ, schema: route('A claim', CLAIM, NO_FIELDS, { codes: ['CLAIM_UNKNOWN'], params: { claim: ID_TEXT } })
  }, async (request) => {
    readQuery(request, NO_FIELDS)
    return (await opened()).queries.claim(idOf(request), idOf(request, 'claim'))
  })

  app.get('/v1/sales/:id/by-request/:key', {
    config: READ,
    schema: route('The reply of an accepted command, from the primary', { type: 'object' }, WHOSE,
      { codes: ['REQUEST_NOT_ACCEPTED'], params: { key: ID_TEXT } })
  }, async (request) => {
    const { userId } = readQuery(request, WHOSE)
    return (await (await opened()).queries.byRequest(idOf(request), userId ?? '', idOf(request, 'key'))).body
  })

  app.get('/v1/sales/:id/queue/:userId', {
    config: READ, schema: route('Where a person is in the queue', PLACE, WAIT, TICKET_CODES)
  }, async (request, reply) => {
    const { waitMs } = readQuery(request, WAIT)
    const { queries } = await opened()
    const place = await queries.place(idOf(request), idOf(request, 'userId'), readTicket(request), waitMs ?? 0)
    if (place.status === 'waiting') reply.header('retry-after', Math.max(1, Math.min(MAX_ASK_S, Math.ceil(place.etaMs / ASK_TIMES / 1000))))
    return queries.shownPlace(place)
  })

  // HEAD would never end
  app.get('/v1/sales/:id/live', {
    config: READ,
    schema: route('The numbers of the sale whenever they change: `sale`', SALE, NO_FIELDS, { type: 'text/event-stream' }),
    exposeHeadRoute: false
  }, async (request, reply) => {
    readQuery(request, NO_FIELDS)
    const id = idOf(request)
    const { queries, live } = await opened()
    await queries.known(id)
    attachStream(request, reply, { system: TAG, push, access, source: live.sourceOf(id) })
  })

  app.get('/v1/sales/:id/queue/:userId/live', {
    config: READ,
    schema: route('Where a person is in the queue, whenever that changes: `place`', PLACE, NO_FIELDS,
      { ...TICKET_CODES, type: 'text/event-stream' }),
    exposeHeadRoute: false
  }, async (request, reply) => {
    readQuery(request, NO_FIELDS)
    const [id, user] = [idOf(request), idOf(request, 'userId')]
    const { queries, live } = await opened()
    queries.claimOfTicket(id, user, readTicket(request))
    await queries.known(id)
    attachStream(request, reply, { system: TAG, push, access, source: live.placeSourceOf(id, user) })
  })
}

/** @param {import('fastify').FastifyRequest} request @param {string} [name] */
const idOf = ({ params }, name = 'id') => readId(/** @type {any} */ (params)[name], name)
