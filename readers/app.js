/**
 * The fastify app of the reader: feeds over HTTP. It never listens; server.js does, or the server that handler.js is part of.
 *
 * @typedef {import('../src/view/index.js').Queries & import('../src/replies/index.js').ItemQueries &
 *   { revision?: (feed: string) => import('../src/replies/index.js').Revision | null,
 *   mayBreakOff?: (feed: string) => Promise<boolean> } & Partial<Pick<import('../src/view/index.js').Views, 'watch' | 'scan'>>} Queries
 *   `revision`, `visit`, `scan`, `watch` and `mayBreakOff`: of views, if there are any
 */
import { createFigures } from '../src/figures/index.js'
import { createLimit, createReplyBudget, createServer, describeRoutes, healthRoutes } from '../src/http/index.js'
import { createPush } from '../src/push/index.js'
import { createReplies } from '../src/replies/index.js'
import { filteredQueries } from '../src/view/index.js'
import { FreshetError } from './errors.js'
import { createKeyStreams } from './systems.js'
import { countRoutes, feedRoutes } from './routes/feeds.js'
import { figuresRoutes } from './routes/figures.js'
import { itemRoutes } from './routes/items.js'
import { severalRoutes } from './routes/live-several.js'
import { liveRoutes } from './routes/live.js'
import { pageRoutes } from './routes/page.js'
import { systemRoutes } from './routes/systems.js'
import { tailRoutes } from './routes/tail.js'

/** each waits for a server at most, or for its client */
const MAX_REQUESTS = 10_000

/**
 * @param {{ queries: Queries, registry: import('prom-client').Registry, logger?: import('fastify').FastifyBaseLogger,
 *   maxStaleMs: number, security?: import('../src/http/index.js').Security | null, clock?: () => number, elapsed?: () => number,
 *   maxRequests?: number, maxReplyBytes?: number, maxUnconfirmedMs?: number | null,
 *   caps?: import('../src/push/index.js').Caps,
 *   deployment?: import('../src/store/index.js').Servers, systems?: import('./systems.js').Systems,
 *   database?: import('./systems.js').ReaderDatabase,
 *   gatewayUrl?: string | null, keyPrefix?: string, onlyFeeds?: boolean, restarts?: () => object[] | null,
 *   pages?: ReturnType<typeof pagesOf> }} options `clock`: ms since 1970; `elapsed`:
 *   monotonic, ms; `caps`: of push streams, without them there is no /live; `deployment`,
 *   `keyPrefix`: for /figures, which is absent without them; `onlyFeeds`: without pages, health, docs and figures
 * @returns {import('fastify').FastifyInstance}
 */
export function createReaderApp ({
  queries, registry, logger, maxStaleMs, security = null, clock = Date.now, elapsed, maxRequests = MAX_REQUESTS, maxReplyBytes,
  maxUnconfirmedMs = null, caps, deployment, systems, database, gatewayUrl, keyPrefix = '', onlyFeeds = false, restarts,
  pages = pagesOf(systems)
}) {
  const app = createServer({ registry, logger, security })
  const access = security?.access ?? null
  const budget = createReplyBudget(registry, maxReplyBytes)
  const replies = createReplies({ registry, budget, maxStaleMs, clock, elapsed, revisionOf: queries.revision })
  app.addHook('onSend', budget.onSend)
  const tags = systems?.all.map(({ definition }) => definition.name)
  if (!onlyFeeds) describeRoutes(app, { title: 'Freshet reader', description: 'The newest items of fast feeds.', tags, security })
  const isRefusing = deployment ? markUnconfirmed(app, { deployment, maxUnconfirmedMs }) : () => false
  if (!onlyFeeds) {
    app.register(healthRoutes, { status: () => isRefusing() ? { ...queries.status(), ready: false } : queries.status(), registry })
    app.register(pageRoutes, { gatewayUrl, restarts, pages })
  }
  if (caps && queries.watch) {
    const push = createPush({
      queries: /** @type {any} */ (queries), now: clock, registry, caps, log: /** @type {any} */ (app.log), hold: deployment?.hold
    })
    access?.listen(push.revoke)
    // streams end before the server waits for its connections
    app.addHook('preClose', () => push.close())
    const keyStreams = database ? systems?.all.map((system) => createKeyStreams(system, push)) ?? [] : []
    app.register(liveRoutes, { push, queries, access })
    app.register(severalRoutes, { push, queries, access, keyStreams })
    app.addHook('onClose', async () => { for (const streams of keyStreams) streams.close() })
    if (systems && database) {
      app.addHook('preClose', async () => systems.end())
      systems.all.forEach((system, i) => app.register(systemRoutes, { system, push, keyStreams: keyStreams[i], database, access }))
    }
  }
  const figures = onlyFeeds || !deployment
    ? undefined
    : createFigures({
      queries, queriesOf: (filter) => filteredQueries(queries, filter), deployment, keyPrefix, now: clock, elapsed, log: app.log
    })
  app.addHook('onClose', async () => figures?.close())
  app.register(async (feeds) => {
    createLimit(registry, maxRequests)(feeds)
    feeds.register(feedRoutes, { queries, replies, asOf: () => deployment ? deployment.confirmedAt(clock()) : clock() })
    feeds.register(itemRoutes, { queries, replies })
    feeds.register(countRoutes, { queries, replies })
    feeds.register(tailRoutes, { queries, replies })
    if (figures) feeds.register(figuresRoutes, { figures, clock })
  })
  return app
}

/** Pages by name of their system. @param {import('./systems.js').Systems} [systems] */
const pagesOf = (systems) => Object.fromEntries(systems?.all.flatMap(({ definition: { name, page } }) => page ? [[name, page]] : []) ?? [])

/**
 * While neither this reader nor a replica hears from the primary (src/store/node.js), replies are marked as stale, and refused
 * once `maxUnconfirmedMs` is over. Figures are about servers, and are always answered.
 * @param {import('fastify').FastifyInstance} app
 * @param {{ deployment: Pick<import('../src/store/index.js').Servers, 'unconfirmedMs'>, maxUnconfirmedMs: number | null }} options
 *   null = never refused
 * @returns {() => boolean} whether they are refused now
 */
function markUnconfirmed (app, { deployment, maxUnconfirmedMs }) {
  const isTooLong = () => maxUnconfirmedMs !== null && deployment.unconfirmedMs > maxUnconfirmedMs
  app.addHook('onRequest', (request, reply, done) => {
    if (deployment.unconfirmedMs === 0) return done()
    const path = request.routeOptions.url ?? ''
    if (!path.startsWith('/v1/') || path.endsWith('/figures')) return done()
    if (isTooLong()) {
      return done(new FreshetError('PRIMARY_UNCONFIRMED',
        `no contact with the primary for more than ${maxUnconfirmedMs} ms; try again, or ask another reader`))
    }
    reply.header('freshet-stale', 'true')
    done()
  })
  return isTooLong
}
