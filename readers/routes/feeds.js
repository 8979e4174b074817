/** Definitions of feeds: layout, partitions, retention; and the number of live items of a feed. */
import { FEED_FIELD, FEED_SCHEMA } from '../../src/feeds/index.js'
import { described, invalid, NO_FIELDS } from '../../src/fields/index.js'
import { feedRoute, FILTERS_IDS, idsOf, readableFeeds } from '../../src/http/index.js'
import { CURSOR_FIELD, CURSOR_SCHEMA } from '../../src/item/index.js'
import { filteredQueries } from '../../src/view/index.js'
import { cursorsFor, sharedBy, whileWanted } from './items.js'

const FIELDS = {
  after: described(CURSOR_FIELD, 'only for tokens with ids: count further, from where a count that was not complete ended')
}

const COUNT = feedRoute({
  summary: 'Number of live items; `exact` is false where the layout can only estimate it',
  params: { feed: FEED_FIELD },
  codes: ['CURSOR_INVALID', 'FEED_UNKNOWN', 'VIEW_NEEDED'],
  query: FIELDS,
  content: {
    'application/json': {
      type: 'object',
      required: ['count', 'exact', 'asOf'],
      properties: {
        count: { type: 'integer', minimum: 0 },
        exact: { type: 'boolean' },
        asOf: { type: 'integer', description: 'milliseconds since 1970, on the clock of this reader' },
        complete: {
          type: 'boolean',
          enum: [false],
          description: 'for a token with ids: 100,000 items were looked at, and `count` is of these; add the count after `next`'
        },
        next: CURSOR_SCHEMA
      }
    }
  }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ queries: import('../app.js').Queries, replies: import('../../src/replies/index.js').Replies }} parts
 */
export async function countRoutes (app, { queries, replies }) {
  app.get('/v1/feeds/:feed/count', { schema: COUNT, config: FILTERS_IDS }, async (request, reply) => {
    const { feed } = /** @type {any} */ (request.params)
    const { after } = /** @type {any} */ (request.query)
    const filter = idsOf(request)
    if (filter) return countPermitted(request, reply, feed, { filter, after })
    if (after !== null) throw invalid('REQUEST_INVALID', [{ field: 'after', received: after, expected: 'it only with a token with ids' }])
    return replies.serve(request, reply, { feed }, async () => {
      const { count, exact, asOf, lagMs } = await queries.count(feed)
      return { asOf, lagMs, body: Buffer.from(JSON.stringify({ count, exact, asOf })), content: [`${count} ${exact}`] }
    })
  })

  /**
   * @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply @param {string} feed
   * @param {{ filter: import('../../src/item/index.js').IdFilter, after: string | null }} query
   */
  async function countPermitted (request, reply, feed, { filter, after }) {
    const cursors = await cursorsFor(queries, feed, filter)
    const from = after === null ? null : cursors.decode(after)
    return replies.serve(request, reply, { feed, ...sharedBy(filter) }, async (isWanted) => {
      const permitted = filteredQueries(queries, filter, whileWanted(isWanted))
      const { count, exact, next, isCut, asOf, lagMs } = await permitted.count(feed, { after: from })
      const rest = isCut && next ? { complete: false, next: cursors.encode(next) } : {}
      return { asOf, lagMs, body: Buffer.from(JSON.stringify({ count, exact, asOf, ...rest })), content: [`${count} ${exact} ${isCut}`] }
    })
  }
}

const DEFINITION = {
  type: 'object',
  required: ['feed', 'layout', 'partitions', 'windowMs', 'maxItems', 'format', 'createdAt'],
  properties: {
    feed: FEED_SCHEMA,
    layout: { type: 'string' },
    partitions: { type: 'integer', minimum: 1 },
    windowMs: { type: 'integer', minimum: 0, description: 'retention by age, 0 = none' },
    maxItems: { type: 'integer', minimum: 0, description: 'retention by count, 0 = none' },
    format: { type: 'integer' },
    late: { type: 'string', enum: ['newest', 'overwrite'], description: 'which version of an id counts; layout ids only' },
    createdAt: { type: 'string', format: 'date-time' },
    widenedAt: { type: 'string', format: 'date-time', description: 'when retention was last widened, if it was' }
  }
}

const LIST = feedRoute({
  summary: 'All feeds; where tokens are required, those that the token may read',
  query: NO_FIELDS,
  content: {
    'application/json': { type: 'object', required: ['feeds'], properties: { feeds: { type: 'array', items: DEFINITION } } }
  }
})

const ONE = feedRoute({
  summary: 'One feed: how it is stored, and its retention',
  params: { feed: FEED_FIELD },
  codes: ['FEED_UNKNOWN'],
  query: NO_FIELDS,
  content: { 'application/json': DEFINITION }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ queries: import('../app.js').Queries, replies: import('../../src/replies/index.js').Replies, asOf: () => number }} parts
 */
export async function feedRoutes (app, { queries, replies, asOf }) {
  /** @param {unknown} content */
  const builtFrom = (content) => {
    const body = Buffer.from(JSON.stringify(content))
    return { asOf: asOf(), lagMs: null, body, content: [body] }
  }

  app.get('/v1/feeds', { schema: LIST, config: /** @type {any} */ ({ access: 'read', ...FILTERS_IDS }) }, async (request, reply) => {
    const { isAll, of, has } = readableFeeds(/** @type {any} */ (request).grant)
    const filter = idsOf(request)
    // replies are shared by clients who may read the same feeds
    const shared = isAll ? sharedBy(filter) : { ...sharedBy(filter), of: `${of} ${filter?.of}` }
    return replies.serve(request, reply, shared, async () => {
      const feeds = await queries.definitions()
      return builtFrom({ feeds: feeds.filter(({ feed }) => has(feed)) })
    })
  })

  app.get('/v1/feeds/:feed', { schema: ONE, config: FILTERS_IDS }, async (request, reply) => {
    const { feed } = /** @type {any} */ (request.params)
    return replies.serve(request, reply, sharedBy(idsOf(request)), async () => builtFrom(await queries.definition(feed)))
  })
}
