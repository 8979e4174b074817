/** Current and recent figures of a feed and its nodes (src/figures), for the page. */
import { FEED_FIELD } from '../../src/feeds/index.js'
import { EVERY_MS } from '../../src/figures/index.js'
import { JSON_TYPE, SingleFlight } from '../../src/replies/index.js'
import { integer } from '../../src/fields/index.js'
import { feedRoute, FILTERS_IDS, idsOf } from '../../src/http/index.js'
import { MAX_TS } from '../../src/item/index.js'

const FIELDS = {
  since: integer(0, MAX_TS,
    { description: 'milliseconds since 1970 on the clock of this reader: only later samples; default: those of the last ten minutes' })
}

const orNull = (/** @type {string} */ type, /** @type {string} */ description = '') =>
  ({ type: [type, 'null'], ...(description && { description }) })
const CPU = { type: 'object', additionalProperties: orNull('number'), description: 'by address of the node: share of one core' }

const FIGURES = feedRoute({
  summary: 'Figures of a feed and its nodes, now and per second over the last minutes; null where a server does not respond within ' +
    'half a second, and where other ids would show to a token with ids',
  params: { feed: FEED_FIELD },
  codes: ['FEED_UNKNOWN'],
  query: FIELDS,
  isCached: false,
  content: {
    'application/json': {
      type: 'object',
      properties: {
        feed: { type: 'string' },
        asOf: { type: 'integer', description: 'milliseconds since 1970, on the clock of this reader' },
        layout: orNull('string', 'like the next three fields null until a server has responded'),
        partitions: orNull('integer'),
        windowMs: orNull('integer'),
        maxItems: orNull('integer'),
        ready: { type: 'boolean', description: 'as /readyz, without the views of other feeds' },
        reasons: { type: 'array', items: { type: 'string' } },
        writers: orNull('integer', 'active within the last 3 s'),
        lastWriteAt: orNull('integer',
          'when this reader last saw that items were written: milliseconds since 1970, as asOf; null also when not since it started'),
        itemsPerSecond: orNull('number', 'acknowledged, as reported by writers'),
        count: orNull('integer', 'live ids'),
        exact: orNull('boolean', 'whether the count is exact'),
        newestTs: orNull('integer', 'event time of the newest item; null also when none is live'),
        keptMs: orNull('integer', 'how far back the feed reaches if maxItems ends before the window; null also while the window decides'),
        nodes: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              role: { type: 'string', enum: ['primary', 'replica'] },
              address: { type: 'string' },
              engine: orNull('string'),
              state: { type: 'string', description: 'as /readyz' },
              lagMs: orNull('integer', 'replication lag'),
              cpu: orNull('number', 'share of one core over the last second')
            }
          }
        },
        everyMs: { type: 'integer', description: 'sampling period' },
        history: {
          type: 'array',
          description: 'oldest first',
          items: {
            type: 'object',
            properties: {
              at: { type: 'integer' },
              itemsPerSecond: orNull('number'),
              lagMs: orNull('integer', 'of the replica with the most lag'),
              cpu: CPU
            }
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
  /** @type {SingleFlight<Buffer>} */
  const flights = new SingleFlight()

  app.get('/v1/feeds/:feed/figures', { schema: FIGURES, config: FILTERS_IDS }, async (request, reply) => {
    const { feed } = /** @type {any} */ (request.params)
    const { since } = /** @type {any} */ (request.query)
    const filter = idsOf(request)
    const key = filter === null ? request.url : `${request.url} ${filter.of}`
    const body = await flights.join(key, () => build(feed, since, filter)).result
    return reply.header('cache-control', 'no-store').header('content-type', JSON_TYPE).send(body)
  })

  /** @param {string} feed @param {number | null} since @param {import('../../src/item/index.js').IdFilter | null} filter */
  async function build (feed, since, filter) {
    const { definition, ...rest } = await (filter === null ? figures.of(feed, since ?? -1) : figures.ofPermitted(feed, filter))
    const { layout = null, partitions = null, windowMs = null, maxItems = null } = definition ?? {}
    const asOf = Math.floor(clock())
    return Buffer.from(JSON.stringify({ feed, asOf, layout, partitions, windowMs, maxItems, ...rest, everyMs: EVERY_MS }))
  }
}
