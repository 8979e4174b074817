/** Auctions: queries, and their events as a stream. */
import { commandRoute, ID_TEXT, integer, NO_FIELDS, querySchema, readId, readQuery, text } from '../../src/http/index.js'
import { FreshetError } from '../errors.js'
import { keyStreamRoute } from './live-stream.js'

const TAG = 'auctions'
const READ = /** @type {any} */ ({ access: 'read', system: TAG })
const MAX_SEQ = Number.MAX_SAFE_INTEGER
const MAX_PAGE = 1000
const PAGE = 100
const MAX_LISTED = 100
const LISTED = 20
const PARAMS = { id: ID_TEXT }
const AMOUNT = { type: ['string', 'null'], description: 'decimal' }
const TIME = { type: 'integer', description: 'milliseconds since 1970' }
const USER = { type: ['string', 'null'], description: 'masked' }

const AUCTION = {
  type: 'object',
  properties: {
    id: ID_TEXT,
    currentBid: AMOUNT,
    leader: USER,
    status: { type: 'string', enum: ['scheduled', 'open', 'closed'] },
    minNext: AMOUNT,
    bids: { type: 'integer', description: 'number of accepted bids' },
    seq: { type: 'integer', description: 'number of the last event' },
    currency: { type: 'string' },
    startPrice: AMOUNT,
    minIncrement: AMOUNT,
    buyNow: AMOUNT,
    reserveMet: { type: ['boolean', 'null'], description: 'null: there is no reserve' },
    openAt: TIME,
    closeAt: TIME,
    generation: { type: 'string', description: 'of the history: sequence numbers of another one cannot be compared' },
    asOf: TIME
  }
}
const EVENT = {
  type: 'object',
  properties: {
    seq: { type: 'integer' },
    by: { type: 'string', enum: ['bid', 'proxy', 'buy', 'close'], description: 'proxy: in the name of the leader, up to the maximum' },
    userId: USER,
    amount: AMOUNT,
    previous: AMOUNT,
    ts: TIME,
    closeAt: { ...TIME, description: 'the end, if this bid moved it' }
  }
}
const RESULT = {
  type: 'object',
  properties: {
    id: ID_TEXT,
    sold: { type: 'boolean' },
    winner: { ...USER, description: 'masked, as `bidder` in the replies to bids' },
    winnerId: { ...ID_TEXT, description: 'not masked: only for tokens with the scope admin, and if it is the `userId` of the query' },
    price: AMOUNT,
    highestBid: AMOUNT,
    reserveMet: AUCTION.properties.reserveMet,
    bids: AUCTION.properties.bids,
    seq: AUCTION.properties.seq,
    closedAt: TIME
  }
}

const SINCE = {
  minSeq: integer(0, MAX_SEQ, { description: 'waits up to 500 ms until events up to this number are known, then asks the primary' })
}
const HISTORY = {
  after: integer(1, MAX_SEQ, { description: 'only events before this sequence number: `next` of the page before' }),
  limit: integer(1, MAX_PAGE, { description: 'events of a page', default: PAGE })
}
const LIST = { limit: integer(1, MAX_LISTED, { description: 'auctions', default: LISTED }) }
const BIDDER = {
  userId: text((given) => readId(given, 'userId'), {
    description: 'a bidder, asserted by the holder of a token with the scope write: `winnerId` tells whether it won',
    expects: 'an id',
    schema: ID_TEXT
  })
}
const WHOSE = {
  userId: text((given) => readId(given, 'userId'), { description: 'the user of the command', expects: 'an id', schema: ID_TEXT })
}

/** @param {string} summary @param {object} content @param {Parameters<typeof querySchema>[0]} fields @param {string[]} [codes] */
const route = (summary, content, fields, codes = []) =>
  commandRoute({
    summary, tag: TAG, params: PARAMS, query: querySchema(fields), content: { 200: content }, codes: ['AUCTION_UNKNOWN', ...codes]
  })

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ systems: ReturnType<typeof import('../systems.js').openSystems>, push: import('../../src/push/index.js').Push,
 *   access: import('../../src/http/index.js').Access | null }} parts
 */
export async function auctionRoutes (app, { systems, push, access }) {
  app.addHook('onSend', async (_request, reply) => { reply.header('cache-control', 'no-store') })
  const opened = () => systems.auctions(push)

  app.get('/v1/auctions', {
    config: READ,
    schema: commandRoute({
      summary: 'Open auctions, the next to close first',
      tag: TAG,
      query: querySchema(LIST),
      content: { 200: { type: 'object', properties: { items: { type: 'array', items: AUCTION } } } },
      codes: []
    })
  }, async (request) => {
    const { limit } = readQuery(request, LIST)
    return opened().then(({ queries }) => queries.open(limit), (error) => {
      if (error.code === 'AUCTION_UNKNOWN') return { items: [] }
      throw error
    })
  })

  app.get('/v1/auctions/:id', { config: READ, schema: route('An auction', AUCTION, SINCE) }, async (request) => {
    const { minSeq } = readQuery(request, SINCE)
    return (await opened()).queries.auction(idOf(request), minSeq ?? 0)
  })

  app.get('/v1/auctions/:id/bids', {
    config: READ,
    schema: route('Its events, the newest first', {
      type: 'object', properties: { items: { type: 'array', items: EVENT }, next: { type: ['string', 'null'], description: 'for `after`' } }
    }, HISTORY)
  }, async (request) => (await opened()).queries.bids(idOf(request), /** @type {any} */ (readQuery(request, HISTORY))))

  app.get('/v1/auctions/:id/result', {
    config: READ, schema: route('Its result', RESULT, BIDDER, ['AUCTION_OPEN'])
  }, async (request) => {
    const { userId } = readQuery(request, BIDDER)
    const { grant } = /** @type {{ grant?: import('../../src/http/index.js').Grant }} */ (/** @type {unknown} */ (request))
    /** @param {'admin' | 'write'} scope */
    const mayAs = (scope) => Boolean(grant && access?.stillPermits(grant, scope, `@${TAG}`))
    const isAdmin = mayAs('admin')
    if (userId !== null && access && !isAdmin && !mayAs('write')) {
      throw new FreshetError('FORBIDDEN', 'userId: this token may not assert who bids; expected one with the scope write, or none of both')
    }
    return (await opened()).queries.result(idOf(request), (winner) => isAdmin || winner === userId)
  })

  app.get('/v1/auctions/:id/by-request/:key', {
    config: READ,
    schema: commandRoute({
      summary: 'The reply of an accepted command, from the primary',
      tag: TAG,
      params: { ...PARAMS, key: ID_TEXT },
      query: querySchema(WHOSE),
      content: { 200: { type: 'object' }, 201: { type: 'object' } },
      codes: ['AUCTION_UNKNOWN', 'REQUEST_NOT_ACCEPTED']
    })
  }, async (request, reply) => {
    const { userId } = readQuery(request, WHOSE)
    const key = readId(/** @type {any} */ (request.params).key, 'key')
    const { status, body } = await (await opened()).queries.byRequest(idOf(request), userId ?? '', key)
    return reply.code(status).send(body)
  })

  keyStreamRoute(app, '/v1/auctions/:id/live', {
    system: TAG,
    config: READ,
    schema: commandRoute({
      summary: 'The auction, then its events: `snapshot`, `bid`, `close`, `reset`; resumes after Last-Event-ID',
      tag: TAG,
      params: PARAMS,
      query: querySchema(NO_FIELDS),
      content: { 200: EVENT },
      type: 'text/event-stream',
      codes: ['AUCTION_UNKNOWN']
    }),
    push,
    access,
    opened
  })
}

/** @param {import('fastify').FastifyRequest} request */
const idOf = ({ params }) => readId(/** @type {any} */ (params).id, 'id')
