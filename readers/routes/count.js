/** How many items of a feed are live. */
import { checkFeedName } from '../../src/feeds/definitions.js'
import { feedRoute } from '../../src/http/openapi.js'
import { NO_FIELDS, querySchema, readQuery } from '../../src/http/query.js'

const COUNT = feedRoute({
  summary: 'How many items are live; `exact` is false where the layout can only estimate',
  params: ['feed'],
  query: querySchema(NO_FIELDS),
  content: { 'application/json': { type: 'object', properties: { count: { type: 'integer' }, exact: { type: 'boolean' }, asOf: { type: 'integer' } } } }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ ask: import('../app.js').Ask, answers: import('../../src/http/answer.js').Answers }} parts
 */
export async function countRoutes (app, { ask, answers }) {
  app.get('/v1/feeds/:feed/count', { schema: COUNT }, async (request, reply) => {
    const feed = checkFeedName(/** @type {any} */ (request.params).feed)
    readQuery(request, NO_FIELDS)
    return answers.give(request, reply, { feed }, async () => {
      const { count, exact, asOf, lagMs } = await ask.count(feed)
      return { asOf, lagMs, body: Buffer.from(JSON.stringify({ count, exact, asOf })), content: [`${count} ${exact}`] }
    })
  })
}
