/**
 * The gateway: items over HTTP into feeds. It wires routes to the parts beside it and in src/http and never listens;
 * ../gateway.js does.
 */
import { createBodyRoom } from '../../src/http/body-bytes.js'
import { healthRoutes } from '../../src/http/health.js'
import { createLimit } from '../../src/http/limits.js'
import { describeRoutes } from '../../src/http/openapi.js'
import { HttpError } from '../../src/http/problem.js'
import { createServer } from '../../src/http/server.js'
import { createIngest } from './ingest.js'
import { itemRoutes } from './routes/items.js'

/** a connection that waits for its answer must not be taken for a stalled one */
const STALL_SPARE_MS = 25_000

/** beyond what may be in flight and as much again that may wait for room: bodies on their way in */
const BODIES_BYTES = 64 * 1024 * 1024

const STOPPING = Object.freeze({ ready: false, reasons: ['this process is stopping'], nodes: [] })

/**
 * @param {{ feeds: import('./feeds.js').Feeds,
 *   status: () => { ready: boolean, reasons: string[], nodes: any[] }, stopping: AbortSignal,
 *   settings: { whenFull: 'block' | 'refuse' | 'drop', ackWithinMs: number, inFlightBytes: number, authToken: string | null },
 *   registry: import('prom-client').Registry, logger?: import('fastify').FastifyBaseLogger, clock?: () => number,
 *   maxRequests?: number, maxBodiesBytes?: number }} options `stopping`: no new requests
 * @returns {import('fastify').FastifyInstance}
 */
export function createGatewayApp ({ feeds, status, stopping, settings, registry, logger, clock = Date.now, maxRequests, maxBodiesBytes }) {
  const { authToken } = settings
  const app = createServer({ registry, logger, authToken, isAllRouted: true })
  app.server.setTimeout(Math.max(app.server.timeout, settings.ackWithinMs + STALL_SPARE_MS))
  // routes that take bodies say so (body.js): for others, and for what is no route, none is read before the answer
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  const limit = createLimit(registry, maxRequests)
  const bodies = { maxBytes: Number(app.initialConfig.bodyLimit), room: createBodyRoom(maxBodiesBytes ?? 2 * settings.inFlightBytes + BODIES_BYTES) }
  describeRoutes(app, { title: 'Freshet gateway', description: 'Items into fast feeds.', bearer: authToken !== null })
  app.register(healthRoutes, { status: () => stopping.aborted ? STOPPING : status(), registry })
  app.register(async (items) => {
    items.addHook('onRequest', (_request, _reply, done) => {
      if (stopping.aborted) done(new HttpError('NOT_READY', 'this process is stopping; ask another one, or again in a second'))
      else done()
    })
    items.addHook('onRequest', limit)
    items.addHook('onSend', (_request, reply, _payload, done) => {
      if (stopping.aborted) reply.header('connection', 'close')
      done()
    })
    items.register(itemRoutes, { feeds, bodies, clock, ingest: createIngest({ ...settings, feeds, log: app.log }) })
  })
  return app
}
