/**
 * The reader: what HTTP asks about feeds, answered from what `ask` finds on the servers. It wires routes to the parts
 * in src/http and never listens; server.js does.
 *
 * @typedef {import('../src/http/chunks.js').Asked & { revision?: (feed: string) => import('../src/http/making.js').Revision | null,
 *   watch?: import('../src/view/views.js').Views['watch'] }} Ask `revision`, `visit` and `watch`: of views, where there are some
 */
import { createFigures } from '../src/figures/index.js'
import { createAnswers } from '../src/http/answer.js'
import { answerInFront } from '../src/http/front.js'
import { healthRoutes } from '../src/http/health.js'
import { createPlaces, limitTo } from '../src/http/limits.js'
import { describeRoutes } from '../src/http/openapi.js'
import { createServer } from '../src/http/server.js'
import { createPush } from '../src/push/index.js'
import { countRoutes } from './routes/count.js'
import { feedRoutes } from './routes/feeds.js'
import { figuresRoutes } from './routes/figures.js'
import { itemRoutes } from './routes/items.js'
import { liveRoutes } from './routes/live.js'
import { pageRoutes } from './routes/page.js'

/**
 * @param {{ ask: Ask, registry: import('prom-client').Registry, logger?: import('fastify').FastifyBaseLogger,
 *   maxStaleMs: number, authToken?: string | null, clock?: () => number, elapsed?: () => number,
 *   loopUse?: (nowMs: number) => number, maxRequests?: number, caps?: import('../src/push/index.js').Caps,
 *   tokens?: import('../src/http/tokens.js').Tokens | null,
 *   deployment?: import('../src/store/deployment.js').Deployment, keyPrefix?: string }} options `clock`: ms since 1970; `elapsed`: ms that never go back; `caps`: of pushing, without
 *   them nothing is pushed; `tokens`: of which who is pushed to needs one; `deployment`, `keyPrefix`: what figures are sampled of, without them there are none
 * @returns {import('fastify').FastifyInstance}
 */
export function createReaderApp ({ ask, registry, logger, maxStaleMs, authToken, clock = Date.now, elapsed, loopUse, maxRequests, caps, tokens = null, deployment, keyPrefix = '' }) {
  const app = createServer({ registry, logger, authToken })
  const answers = createAnswers({ registry, maxStaleMs, clock, elapsed, loopUse, revisionOf: ask.revision })
  const places = createPlaces(registry, maxRequests)
  answerInFront(app, { answers, places })
  describeRoutes(app, { title: 'Freshet reader', description: 'The newest items of fast feeds.' })
  app.register(healthRoutes, { status: ask.status, registry })
  app.register(pageRoutes)
  if (caps && ask.watch) {
    const push = createPush({ ask: /** @type {any} */ (ask), now: clock, registry, caps, log: /** @type {any} */ (app.log) })
    tokens?.listen(push.revoke)
    // streams end before the server waits for its connections
    app.addHook('preClose', () => push.close())
    app.register(liveRoutes, { push, tokens })
  }
  const figures = deployment && createFigures({ ask, deployment, keyPrefix, now: clock, elapsed, log: app.log })
  app.addHook('onClose', async () => figures?.close())
  app.register(async (feeds) => {
    feeds.addHook('onRequest', limitTo(places))
    feeds.register(feedRoutes, { ask, answers })
    feeds.register(itemRoutes, { ask, answers })
    feeds.register(countRoutes, { ask, answers })
    if (figures) feeds.register(figuresRoutes, { figures, clock })
  })
  return app
}
