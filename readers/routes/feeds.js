/** Definitions of feeds: layout, partitions, retention. */
import { FEED_FIELD, FEED_SCHEMA } from '../../src/feeds/index.js'
import { NO_FIELDS } from '../../src/fields/index.js'
import { feedRoute, FILTERS_IDS, readableFeeds } from '../../src/http/index.js'

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
    // replies are shared by clients who may read the same feeds
    return replies.serve(request, reply, isAll ? {} : { of }, async () => {
      const feeds = await queries.definitions()
      return builtFrom({ feeds: feeds.filter(({ feed }) => has(feed)) })
    })
  })

  app.get('/v1/feeds/:feed', { schema: ONE, config: FILTERS_IDS }, async (request, reply) => {
    const { feed } = /** @type {any} */ (request.params)
    return replies.serve(request, reply, {}, async () => builtFrom(await queries.definition(feed)))
  })
}
