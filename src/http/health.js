/**
 * Health for orchestrators, and the scrape. `/livez` answers while the loop turns, whatever the servers do: restarting
 * this process does not bring a server back. `/readyz` says whether traffic should come here, and why not.
 */
import { registerProcess } from '../metrics/process.js'
import { HttpError } from './problem.js'

/** @typedef {ReturnType<import('../view/ask.js').Ask['status']>} Status */

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ status: () => Status, registry: import('prom-client').Registry }} options
 */
export async function healthRoutes (app, { status, registry }) {
  const stopSampling = registerProcess(registry, { isReady: () => status().ready })
  app.addHook('onClose', async () => stopSampling())

  app.get('/livez', { schema: { tags: ['operating'], summary: 'Alive: the event loop turns' } }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return { status: 'ok' }
  })

  app.get('/readyz', { schema: { tags: ['operating'], summary: 'Ready: the servers can answer; else 503 with reasons' } }, async (_request, reply) => {
    const { ready, reasons, ...rest } = status()
    if (!ready) throw new HttpError('NOT_READY', reasons.join('; '), { ready, reasons, ...rest })
    reply.header('cache-control', 'no-store')
    return { ready, reasons, ...rest }
  })

  app.get('/metrics', { schema: { tags: ['operating'], summary: 'Prometheus metrics' } }, async (_request, reply) => {
    reply.header('content-type', registry.contentType)
    return registry.metrics()
  })
}
