/** Changes of a feed as server-sent events (src/push), and the responses of all such streams. */
import { FreshetError } from '../../src/errors.js'
import { FEED_FIELD } from '../../src/feeds/index.js'
import { described, integer, many, number, oneOf } from '../../src/fields/index.js'
import { feedRoute, FILTERS_IDS, idsOf } from '../../src/http/index.js'
import { ID_FIELD } from '../../src/item/index.js'
import { createPositionSeal, retryAfter, TICK_MS } from '../../src/push/index.js'
import { ENCODINGS, ITEM_SCHEMA } from '../../src/replies/index.js'
import { bytesOfIds, permittedIds } from './items.js'

/** average delay after which clients reconnect */
const RETRY_MS = 1000

const HEAD = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  // a proxy that compresses would hold events back
  'cache-control': 'no-store, no-transform',
  // else nginx buffers the stream
  'x-accel-buffering': 'no'
})

/**
 * Takes a response over for a stream, with the headers that hooks have set, such as CORS.
 * @param {import('fastify').FastifyReply} reply @returns {import('node:http').ServerResponse} its head is sent
 */
function openStream (reply) {
  reply.hijack()
  reply.raw.writeHead(200, Object.assign(/** @type {any} */ (reply.getHeaders()), HEAD))
  reply.raw.write(retryAfter(RETRY_MS * (0.5 + Math.random())))
  return reply.raw
}

/**
 * The client of a request, for src/push.
 * @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply
 * @param {import('../../src/http/index.js').Access | null} access
 * @param {readonly string[]} whats feeds, and names of systems after an at sign
 * @returns {import('../../src/push/index.js').Client}
 */
export function clientOf (request, reply, access, whats) {
  const { grant } = /** @type {{ grant?: import('../../src/http/index.js').Grant }} */ (/** @type {unknown} */ (request))
  return {
    token: grant?.id ?? null,
    isPermitted: () => !access || !grant || whats.every((what) => access.stillPermits(grant, 'read', what)),
    open: () => openStream(reply)
  }
}

/** @param {import('fastify').FastifyRequest} request @returns {string | null} */
export function lastEventId ({ headers: { 'last-event-id': last } }) {
  return typeof last === 'string' && last !== '' ? last : null
}

const MAX_IDS = 1000
const MAX_SNAPSHOT = 10_000
const MAX_TIME = 2 ** 41 - 1
const SNAPSHOT_ITEMS = 100
const MAX_RATE = 1000 / TICK_MS
export const VERSION = {
  ...ITEM_SCHEMA,
  required: ['id'],
  properties: { ...ITEM_SCHEMA.properties, deleted: { type: 'boolean', enum: [true], description: 'instead of a value' } }
}
export const FIELDS = {
  limit: integer(0, MAX_SNAPSHOT, { description: `items in the snapshot; default: ${SNAPSHOT_ITEMS}, or one for each id` }),
  maxRate: number(0.1, 1000, {
    description: `maximum deliveries per second, at most ${MAX_RATE}; of an id that changes more often only the newest version is sent`,
    default: MAX_RATE
  }),
  id: many(MAX_IDS, described(ID_FIELD, 'only items with these ids')),
  since: integer(0, MAX_TIME, { description: 'begin with all that was written since: ms since 1970, on the clock of the server' }),
  tail: integer(1, MAX_SNAPSHOT, { description: 'begin with so many ids that changed last' }),
  wait: oneOf(['no', 'yes'], { description: 'whether to wait for a feed that does not exist, and to begin with its first item' }),
  encoding: oneOf(ENCODINGS, { description: 'encoding of values; values that are not valid in it are base64 and marked so' })
}

const ITEMS = { type: 'object', required: ['items'], properties: { items: { type: 'array', items: VERSION } } }
/** of one event; docs/pushing.md says what clients do with it */
export const EVENT = {
  type: 'object',
  properties: {
    event: { type: 'string', enum: ['snapshot', 'items', 'reset'] },
    id: { type: 'string', description: 'a position, at which Last-Event-ID resumes; empty after a reset' },
    data: {
      type: 'string',
      contentMediaType: 'application/json',
      contentSchema: { anyOf: [ITEMS, { type: 'object', required: ['reason'], properties: { reason: { type: 'string' } } }] }
    },
    retry: { type: 'integer', minimum: 0, description: 'milliseconds after which a client may reconnect' }
  }
}

/** what requests send */
export const RESUMING = Object.freeze({
  'last-event-id': { type: 'string', description: 'the `id` of the last event received; with another one, `reset` and a snapshot come' }
})

/**
 * What a query wants of feeds, and a token permits.
 * @param {Record<string, any>} query @param {import('fastify').FastifyRequest} request
 * @throws {FreshetError} REQUEST_INVALID, FORBIDDEN
 */
export function subscriptionIn ({ limit, maxRate, id, encoding, since, tail }, request) {
  if (since !== null && tail !== null) throw new FreshetError('REQUEST_INVALID', 'since and tail: both are given; expected one of them')
  const filter = idsOf(request)
  const ids = permittedIds(filter, bytesOfIds(id))
  return {
    limit: limit ?? (id ? id.length : SNAPSHOT_ITEMS),
    encoding,
    periodMs: 1000 / maxRate,
    ids: ids ? new Set(ids.map(latin1)) : filter ? new Set(filter.named.map(latin1)) : null,
    beginnings: ids ? [] : filter?.beginnings.map(latin1),
    position: lastEventId(request),
    start: since !== null ? { sinceMs: since } : tail !== null ? { tail } : null
  }
}

const LIVE = feedRoute({
  summary: 'The newest items, then changes: server-sent events `snapshot`, `items`, `reset`; resumes after Last-Event-ID',
  params: { feed: FEED_FIELD },
  query: FIELDS,
  content: { 'text/event-stream': EVENT },
  isCached: false,
  requestHeaders: RESUMING,
  codes: ['ITEM_ID_INVALID', 'FEED_UNKNOWN', 'VIEW_NEEDED']
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ push: import('../../src/push/index.js').Push, queries: import('../app.js').Queries,
 *   access: import('../../src/http/index.js').Access | null }} parts
 */
export async function liveRoutes (app, { push, queries, access }) {
  // HEAD would never end
  app.get('/v1/feeds/:feed/live', { schema: LIVE, config: FILTERS_IDS, exposeHeadRoute: false }, async (request, reply) => {
    const { feed } = /** @type {any} */ (request.params)
    const query = /** @type {any} */ (request.query)
    const subscription = subscriptionIn(query, request)
    const filter = idsOf(request)
    const seal = filter && await createPositionSeal(feed, filter, queries.secret)
    const { position } = subscription
    await push.stream({
      feed,
      ...subscription,
      wait: query.wait === 'yes',
      // one that does not open is none, which costs a reset
      position: position && seal ? await seal.open(position) ?? '' : position,
      seal
    }, clientOf(request, reply, access, [feed]))
  })
}

/** @param {Buffer} id */
const latin1 = (id) => id.toString('latin1')
