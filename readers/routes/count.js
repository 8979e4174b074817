/** The number of live items of a feed. */
import { checkFeedName, FEED_SCHEMA } from '../../src/feeds/index.js'
import { NO_FIELDS, querySchema } from '../../src/fields/index.js'
import { feedRoute, readQuery } from '../../src/http/index.js'

const COUNT = feedRoute({
  summary: 'Number of live items; `exact` is false where the layout can only estimate it',
  params: { feed: FEED_SCHEMA },
  codes: ['FEED_UNKNOWN', 'VIEW_NEEDED'],
  query: querySchema(NO_FIELDS),
  content: {
    'application/json': {
      type: 'object',
      required: ['count', 'exact', 'asOf'],
      properties: {
        count: { type: 'integer', minimum: 0 },
        exact: { type: 'boolean' },
        asOf: { type: 'integer', description: 'milliseconds since 1970, on the clock of this reader' }
      }
    }
  }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ queries: import('../app.js').Queries, replies: import('../../src/replies/index.js').Replies }} parts
 */
export async function countRoutes (app, { queries, replies }) {
  app.get('/v1/feeds/:feed/count', { schema: COUNT }, async (request, reply) => {
    const feed = checkFeedName(/** @type {any} */ (request.params).feed)
    readQuery(request, NO_FIELDS)
    return replies.serve(request, reply, { feed }, async () => {
      const { count, exact, asOf, lagMs } = await queries.count(feed)
      return { asOf, lagMs, body: Buffer.from(JSON.stringify({ count, exact, asOf })), content: [`${count} ${exact}`] }
    })
  })
}
