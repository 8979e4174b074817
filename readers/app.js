/**
 * The reader: what HTTP asks about feeds, answered from what `ask` finds on the servers. It wires routes to the parts
 * in src/http and never listens; server.js does.
 *
 * @typedef {import('../src/view/ask.js').Ask} Ask
 */
import { createAnswers } from '../src/http/answer.js'
import { healthRoutes } from '../src/http/health.js'
import { createLimit } from '../src/http/limits.js'
import { describeRoutes } from '../src/http/openapi.js'
import { createServer } from '../src/http/server.js'
import { countRoutes } from './routes/count.js'
import { feedRoutes } from './routes/feeds.js'
import { itemRoutes } from './routes/items.js'
import { pageRoutes } from './routes/page.js'

/**
 * @param {{ ask: Ask, registry: import('prom-client').Registry, logger?: import('fastify').FastifyBaseLogger,
 *   maxStaleMs: number, authToken?: string | null, clock?: () => number, maxRequests?: number }} options
 * @returns {import('fastify').FastifyInstance}
 */
export function createReaderApp ({ ask, registry, logger, maxStaleMs, authToken, clock = Date.now, maxRequests }) {
  const app = createServer({ registry, logger, authToken })
  const answers = createAnswers({ registry, maxStaleMs, clock })
  const limit = createLimit(registry, maxRequests)
  describeRoutes(app, { title: 'Freshet reader', description: 'The newest items of fast feeds.' })
  app.register(healthRoutes, { status: ask.status, registry })
  app.register(pageRoutes)
  app.register(async (feeds) => {
    feeds.addHook('onRequest', limit)
    feeds.register(feedRoutes, { ask, answers })
    feeds.register(itemRoutes, { ask, answers })
    feeds.register(countRoutes, { ask, answers })
  })
  return app
}
