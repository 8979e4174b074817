/** How a feed and its nodes do, now and over the last minutes (src/figures): for pages and terminals that show it. */
import { checkFeedName } from '../../src/feeds/definitions.js'
import { EVERY_MS } from '../../src/figures/index.js'
import { JSON_TYPE } from '../../src/http/answer.js'
import { feedRoute } from '../../src/http/openapi.js'
import { integer, querySchema, readQuery } from '../../src/http/query.js'
import { MAX_TS } from '../../src/item/order.js'

const FIELDS = {
  since: integer(0, MAX_TS, { description: 'milliseconds since 1970 on the clock of this reader: only samples after it; without it all of the last ten minutes' })
}

const orNull = (/** @type {string} */ type, /** @type {string} */ description = '') => ({ type: [type, 'null'], ...(description && { description }) })
const CPU = { type: 'object', additionalProperties: orNull('number'), description: 'by address of the node: share of one core' }

const FIGURES = feedRoute({
  summary: 'How a feed and its nodes do, now and each second of the last minutes; what servers do not say within half a second is null',
  params: ['feed'],
  query: querySchema(FIELDS),
  headers: {},
  content: {
    'application/json': {
      type: 'object',
      properties: {
        feed: { type: 'string' },
        asOf: { type: 'integer', description: 'milliseconds since 1970, on the clock of this reader' },
        layout: orNull('string', 'with what follows it, null while no server has said it yet'),
        partitions: orNull('integer'),
        windowMs: orNull('integer'),
        maxItems: orNull('integer'),
        ready: { type: 'boolean', description: 'as /readyz' },
        reasons: { type: 'array', items: { type: 'string' } },
        writers: orNull('integer', 'that wrote within the last 3 s'),
        itemsPerSecond: orNull('number', 'acknowledged, by what writers say of themselves'),
        count: orNull('integer', 'live ids'),
        exact: orNull('boolean', 'whether the count is'),
        newestTs: orNull('integer', 'event time of the newest item; null too when none is live'),
        nodes: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              role: { type: 'string', enum: ['primary', 'replica'] },
              address: { type: 'string' },
              engine: orNull('string'),
              state: { type: 'string', description: 'as /readyz' },
              lagMs: orNull('integer', 'how far a replica is behind'),
              cpu: orNull('number', 'share of one core over the last second')
            }
          }
        },
        everyMs: { type: 'integer', description: 'how often samples are taken' },
        history: {
          type: 'array',
          description: 'oldest first',
          items: {
            type: 'object',
            properties: { at: { type: 'integer' }, itemsPerSecond: orNull('number'), lagMs: orNull('integer', 'of the replica that is furthest behind'), cpu: CPU }
          }
        }
      }
    }
  }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ figures: import('../../src/figures/index.js').Figures, clock: () => number }} parts `clock`: ms since 1970
 */
export async function figuresRoutes (app, { figures, clock }) {
  app.get('/v1/feeds/:feed/figures', { schema: FIGURES }, async (request, reply) => {
    const feed = checkFeedName(/** @type {any} */ (request.params).feed)
    const { since } = readQuery(request, FIELDS)
    const { definition, count, exact, newestTs, itemsPerSecond, writers, ready, reasons, nodes, history } = await figures.of(feed, since ?? -1)
    const { layout = null, partitions = null, windowMs = null, maxItems = null } = definition ?? {}
    reply.header('cache-control', 'no-store').header('content-type', JSON_TYPE)
    // a text: what is described in the schema has numbers that may be null
    return JSON.stringify({
      feed,
      asOf: Math.floor(clock()),
      layout,
      partitions,
      windowMs,
      maxItems,
      ready,
      reasons,
      writers,
      itemsPerSecond,
      count,
      exact,
      newestTs,
      nodes,
      everyMs: EVERY_MS,
      history
    })
  })
}
