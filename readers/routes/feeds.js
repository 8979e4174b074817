/** Which feeds there are, and how each is stored. */
import { checkFeedName } from '../../src/feeds/definitions.js'
import { feedRoute } from '../../src/http/openapi.js'
import { NO_FIELDS, querySchema, readQuery } from '../../src/http/query.js'

const DEFINITION = {
  type: 'object',
  properties: {
    feed: { type: 'string' },
    layout: { type: 'string' },
    partitions: { type: 'integer' },
    windowMs: { type: 'integer' },
    maxItems: { type: 'integer' },
    format: { type: 'integer' },
    createdAt: { type: 'string' },
    widenedAt: { type: 'string', description: 'when retention was last made wider, if it was' }
  }
}

const LIST = feedRoute({
  summary: 'All feeds',
  query: querySchema(NO_FIELDS),
  content: { 'application/json': { type: 'object', properties: { feeds: { type: 'array', items: DEFINITION } } } }
})

const ONE = feedRoute({
  summary: 'One feed: its layout, partitions and retention',
  params: ['feed'],
  query: querySchema(NO_FIELDS),
  content: { 'application/json': DEFINITION }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ ask: import('../app.js').Ask, answers: import('../../src/http/answer.js').Answers }} parts
 */
export async function feedRoutes (app, { ask, answers }) {
  /** @param {unknown} content */
  const answerOf = (content) => {
    const body = Buffer.from(JSON.stringify(content))
    return { asOf: answers.clock(), lagMs: null, body, content: [body] }
  }

  app.get('/v1/feeds', { schema: LIST }, async (request, reply) => {
    readQuery(request, NO_FIELDS)
    return answers.give(request, reply, {}, async () => answerOf({ feeds: await ask.definitions() }))
  })

  app.get('/v1/feeds/:feed', { schema: ONE }, async (request, reply) => {
    const feed = checkFeedName(/** @type {any} */ (request.params).feed)
    readQuery(request, NO_FIELDS)
    return answers.give(request, reply, {}, async () => answerOf(await ask.definition(feed)))
  })
}
