/**
 * The fastify app of the gateway: items over HTTP into feeds. It never listens; ../gateway.js does.
 */
import { commandRoutes, createBodyBudget, createLimit, createServer, describeRoutes, healthRoutes } from '../../src/http/index.js'
import { within } from '../../src/runtime/index.js'
import { FreshetError } from './errors.js'
import { createIngest } from './ingest.js'
import { deadLetterRoutes } from './routes/dead-letters.js'
import { feedRoutes } from './routes/feeds.js'
import { itemRoutes } from './routes/items.js'

/**
 * Stops a gateway within `drainMs`: no new requests, those in progress are answered, then every feed flushes. Requests
 * that are left are answered with ACK_UNKNOWN, since their feed is closed, or are cut off if their body is still coming.
 */

const ANSWER_WITHIN_MS = 500

/**
 * @param {{ app: import('fastify').FastifyInstance, feeds: import('./feeds.js').Feeds, drainMs: number,
 *   log: import('pino').Logger }} parts
 * @returns {Promise<number>} exit status: 1 when items were not acknowledged
 */
export async function stopGateway ({ app, feeds, drainMs, log }) {
  const endMs = performance.now() + drainMs
  const closed = app.close()
  feeds.drain()
  await within(closed, drainMs)
  await feeds.close({ drainMs: Math.max(0, endMs - performance.now()) })
  await within(closed, ANSWER_WITHIN_MS)
  app.server.closeAllConnections()
  await closed
  if (feeds.failed > 0) log.error({ failed: feeds.failed }, 'items were not acknowledged')
  return feeds.failed > 0 ? 1 : 0
}

/** more than a response may take, so that a waiting connection is not closed as stalled */
const STALL_SPARE_MS = 25_000

/** for bodies being received, in addition to those in flight and as many that wait for room */
const BODIES_BYTES = 64 * 1024 * 1024

const MAX_REQUESTS = 1000

const ROOT = /** @type {any} */ ({ config: { access: 'public' }, schema: { hide: true } })
const ABOUT = `This is a gateway of Freshet. It accepts items and commands, for example

    curl THIS_ADDRESS/v1/feeds/positions/items -H 'Content-Type: application/json' -d '{"id":"bus-7","value":{"stop":12}}'

/docs lists all routes. A reader, at another address, has the pages and serves what is stored.
`

const STOPPING = Object.freeze({ ready: false, reasons: ['this process is stopping'], nodes: [] })

/**
 * @param {{ feeds: import('./feeds.js').Feeds, putFeed?: import('./routes/feeds.js').Put, systems?: import('./systems.js').Systems['all'],
 *   status: () => { ready: boolean, reasons: string[], nodes: any[] }, use?: () => void, stopping: AbortSignal,
 *   settings: { whenFull: 'block' | 'refuse' | 'drop', ackWithinMs: number, inFlightBytes: number },
 *   security?: import('../../src/http/index.js').Security | null, registry: import('prom-client').Registry,
 *   logger?: import('fastify').FastifyBaseLogger, clock?: () => number,
 *   maxRequests?: number, maxBodiesBytes?: number }} options `use` is called for each request that changes something;
 *   `stopping`: new requests are refused
 * @returns {import('fastify').FastifyInstance}
 */
export function createGatewayApp ({
  feeds, putFeed, systems = [], status, use = () => {}, stopping, settings, security = null, registry, logger, clock = Date.now,
  maxRequests = MAX_REQUESTS, maxBodiesBytes
}) {
  const app = createServer({ registry, logger, security })
  app.server.setTimeout(Math.max(app.server.timeout, settings.ackWithinMs + STALL_SPARE_MS))
  const limit = createLimit(registry, maxRequests)
  const budget = createBodyBudget(maxBodiesBytes ?? 2 * settings.inFlightBytes + BODIES_BYTES)
  const bodies = { maxBytes: Number(app.initialConfig.bodyLimit), budget }
  const tags = systems.map(({ definition }) => definition.name)
  describeRoutes(app, { title: 'Freshet gateway', description: 'Items into fast feeds.', tags, security })
  app.register(async (about) => {
    about.get('/', ROOT, (_request, reply) => reply.type('text/plain; charset=utf-8').send(ABOUT))
  })
  app.register(healthRoutes, { status: () => stopping.aborted ? STOPPING : status(), registry })
  /** @param {import('fastify').FastifyInstance} commands routes that change something */
  function guard (commands) {
    commands.addHook('onRequest', (_request, _reply, done) => {
      if (stopping.aborted) done(new FreshetError('NOT_READY', 'this process is stopping; ask another one, or again in a second'))
      else {
        use()
        done()
      }
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
  if (putFeed) {
    app.register(async (routes) => {
      guard(routes)
      routes.register(feedRoutes, { put: putFeed, budget })
    })
  }
  for (const { definition: { name, commands }, systemGateway, parts, letters } of systems) {
    app.register(async (routes) => {
      guard(routes)
      routes.register(commandRoutes, { name, commands, systemCommands: systemGateway.commands, parts, budget })
      routes.register(deadLetterRoutes, { name, open: letters })
    })
  }
  return app
}
