/**
 * The fastify app of the gateway: items over HTTP into feeds. It never listens; ../gateway.js does.
 */
import { FreshetError } from './errors.js'
import { createBodyRoom, createLimit, createServer, describeRoutes, healthRoutes } from '../../src/http/index.js'
import { createIngest } from './ingest.js'
import { auctionRoutes } from './routes/auctions.js'
import { deadLetterRoutes } from './routes/dead-letters.js'
import { feedRoutes } from './routes/feeds.js'
import { itemRoutes } from './routes/items.js'
import { orderRoutes } from './routes/orders.js'
import { priceRoutes } from './routes/prices.js'
import { saleRoutes } from './routes/sales.js'

/** more than a response may take, so that a waiting connection is not closed as stalled */
const STALL_SPARE_MS = 25_000

/** for bodies being received, in addition to those in flight and as many that wait for room */
const BODIES_BYTES = 64 * 1024 * 1024

const MAX_REQUESTS = 1000

const STOPPING = Object.freeze({ ready: false, reasons: ['this process is stopping'], nodes: [] })

/**
 * @param {{ feeds: import('./feeds.js').Feeds, putFeed?: import('./routes/feeds.js').Put,
 *   auctions?: import('../../src/systems/auctions/index.js').Auctions,
 *   sales?: import('../../src/systems/sales/index.js').Sales, prices?: import('../../src/systems/prices/index.js').Prices,
 *   orders?: import('../../src/systems/orders/index.js').Orders,
 *   letters?: Record<string, () => Promise<import('../../src/consumers/index.js').DeadLetters>>,
 *   status: () => { ready: boolean, reasons: string[], nodes: any[] }, stopping: AbortSignal,
 *   settings: { whenFull: 'block' | 'refuse' | 'drop', ackWithinMs: number, inFlightBytes: number, paymentSecret?: string | null },
 *   security?: import('../../src/http/index.js').Security | null, registry: import('prom-client').Registry,
 *   logger?: import('fastify').FastifyBaseLogger, clock?: () => number,
 *   maxRequests?: number, maxBodiesBytes?: number }} options `stopping`: new requests are refused
 * @returns {import('fastify').FastifyInstance}
 */
export function createGatewayApp ({
  feeds, putFeed, auctions, sales, prices, orders, letters, status, stopping, settings, security = null, registry, logger, clock = Date.now,
  maxRequests = MAX_REQUESTS, maxBodiesBytes
}) {
  const app = createServer({ registry, logger, security })
  app.server.setTimeout(Math.max(app.server.timeout, settings.ackWithinMs + STALL_SPARE_MS))
  const limit = createLimit(registry, maxRequests)
  const room = createBodyRoom(maxBodiesBytes ?? 2 * settings.inFlightBytes + BODIES_BYTES)
  const bodies = { maxBytes: Number(app.initialConfig.bodyLimit), room }
  describeRoutes(app, { title: 'Freshet gateway', description: 'Items into fast feeds.', security })
  app.register(healthRoutes, { status: () => stopping.aborted ? STOPPING : status(), registry })
  /** @param {import('fastify').FastifyInstance} commands routes that change something */
  function guard (commands) {
    commands.addHook('onRequest', (_request, _reply, done) => {
      if (stopping.aborted) done(new FreshetError('NOT_READY', 'this process is stopping; ask another one, or again in a second'))
      else done()
    })
    limit(commands)
    commands.addHook('onSend', (_request, reply, _payload, done) => {
      if (stopping.aborted) reply.header('connection', 'close')
      done()
    })
  }
  app.register(async (items) => {
    guard(items)
    items.register(itemRoutes, { feeds, bodies, clock, ingest: createIngest({ ...settings, feeds, log: app.log }) })
  })
  /** @param {(commands: import('fastify').FastifyInstance) => void} register */
  const guarded = (register) => app.register(async (commands) => {
    guard(commands)
    register(commands)
  })
  if (putFeed) guarded((commands) => commands.register(feedRoutes, { put: putFeed, room }))
  if (auctions) guarded((commands) => commands.register(auctionRoutes, { auctions, room }))
  if (sales) guarded((commands) => commands.register(saleRoutes, { sales, room }))
  if (prices) guarded((commands) => commands.register(priceRoutes, { prices, room }))
  if (orders) {
    const paymentSecret = settings.paymentSecret ?? null
    guarded((commands) => commands.register(orderRoutes, { orders, room, paymentSecret, clock }))
  }
  if (letters) guarded((commands) => commands.register(deadLetterRoutes, { letters }))
  return app
}
