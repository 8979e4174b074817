/**
 * Health checks and metrics. `/livez` succeeds while the event loop runs, whatever the servers do: restarting this process
 * does not bring a server back. `/readyz` reports whether traffic should be routed here, with reasons if not.
 */
import { FreshetError } from './errors.js'
import { problemsOf, processRoute } from './route-schemas.js'
import { registerProcess } from '../metrics/index.js'
import { idsOf, readableFeeds } from './security/index.js'

const REASONS = Object.freeze({ type: 'array', items: { type: 'string' } })
const NOTES = Object.freeze({ ...REASONS, description: 'what was wrong with the servers; no reason to route elsewhere' })
const DEGRADED = Object.freeze({ ...REASONS, description: 'what does not work as well as it could' })
const NODES = Object.freeze({
  type: 'array',
  items: {
    type: 'object',
    required: ['role', 'address', 'state'],
    properties: {
      role: { type: 'string', enum: ['primary', 'replica'] },
      address: { type: 'string' },
      state: { type: 'string' },
      lagMs: { type: ['integer', 'null'], description: 'replication lag' }
    }
  }
})

const LIVENESS = processRoute({
  summary: 'Liveness: the event loop runs',
  type: 'application/json',
  content: { type: 'object', required: ['status'], properties: { status: { type: 'string', enum: ['ok'] } } }
})
const READINESS = processRoute({
  summary: 'Readiness: the servers are usable; else 503 with reasons',
  type: 'application/json',
  content: {
    type: 'object',
    required: ['ready', 'reasons'],
    properties: { ready: { type: 'boolean', enum: [true] }, reasons: DEGRADED, notes: NOTES, nodes: NODES }
  },
  errors: problemsOf(['NOT_READY'],
    { ready: { type: 'boolean', enum: [false] }, reasons: { ...REASONS, minItems: 1 }, notes: NOTES, nodes: NODES })
})
const EXPOSITION = processRoute({ summary: 'Prometheus metrics', type: 'text/plain' })

/** @typedef {{ ready: boolean, reasons: string[] } & Record<string, unknown>} Status */

/** What the routes need (security/guard.js). @type {any[]} */
const [PUBLIC, OPTIONAL, METRICS] = [{ access: 'public' }, { access: 'optional' }, { access: 'metrics' }]

/** Whether the client may see names of all feeds, numbers of items, and addresses. @param {import('fastify').FastifyRequest} request */
function seesAll (request) {
  const { grant } = /** @type {{ grant?: import('./security/index.js').Grant | null }} */ (request)
  return grant !== null && readableFeeds(grant).isAll && idsOf(request) === null
}

/** Reasons and nodes name feeds and addresses. @param {Status} status @returns {Status} */
const withoutFacts = ({ ready }) =>
  ({ ready, reasons: ready ? [] : ['this process is not ready; with a token for all feeds the reasons are shown'] })

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ status: () => Status, registry: import('prom-client').Registry }} options
 */
export async function healthRoutes (app, { status, registry }) {
  const stopSampling = registerProcess(registry, { isReady: () => status().ready })
  app.addHook('onClose', async () => stopSampling())

  app.get('/livez', { config: PUBLIC, schema: LIVENESS }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'ok' }
  })

  app.get('/readyz', { config: OPTIONAL, schema: READINESS }, async (request, reply) => {
    const all = status()
    const shown = seesAll(request) ? all : withoutFacts(all)
    if (!all.ready) throw new FreshetError('NOT_READY', all.reasons.join('; '), { publicWhy: shown.reasons.join('; '), ...shown })
    reply.header('cache-control', 'no-store')
    return shown
  })

  /** @type {Promise<string> | null} */
  let scrape = null
  app.get('/metrics', { config: METRICS, schema: EXPOSITION }, async (_request, reply) => {
    reply.header('content-type', registry.contentType)
    // concurrent scrapes share one
    scrape ??= registry.metrics().finally(() => { scrape = null })
    return scrape
  })
}
