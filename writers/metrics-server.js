/** /metrics, /livez and /readyz of writers and consumers, on `host` and `metricsPort`. */
import { createServer, healthRoutes, listen, openSecurity } from '../src/http/index.js'
import { createWriterMetrics, startEmbedded } from '../src/metrics/index.js'
import { createServers } from '../src/store/index.js'

/** The servers of a process that writes: figures of their nodes, which are asked when they are wanted. */

/**
 * @param {any} settings @param {{ redisUrl: string, replicaUrls: string[] | null, name: string, log: import('pino').Logger }} parts
 * @throws {import('../src/errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED of the primary
 */
export async function openServers ({ readFrom, deadlineMs }, parts) {
  const servers = createServers({ ...parts, readFrom, deadlineMs, isReading: false, isAsked: false })
  try {
    await servers.ready
    return servers
  } catch (error) {
    await servers.close()
    throw error
  }
}

/** @typedef {Awaited<ReturnType<typeof serveMetrics>>} MetricsServer */

/**
 * @param {any} settings
 * @param {{ registry: import('prom-client').Registry, status: Parameters<typeof healthRoutes>[1]['status'],
 *   log: import('pino').Logger }} parts
 * @throws {import('../src/errors.js').FreshetError} PORT_IN_USE, and those of openSecurity
 */
export async function serveRegistry (settings, { registry, status, log }) {
  const security = await openSecurity(settings, { log })
  const app = createServer({ registry, security })
  app.register(healthRoutes, { status, registry })
  const embedded = startEmbedded(registry, settings.cloudwatchService)
  const close = async () => {
    await embedded.close()
    await app.close()
    security.close()
  }
  try {
    const url = await listen(app, { host: settings.host, port: settings.metricsPort, setting: 'metrics-port' })
    log.info({ url: `${url}/metrics` }, 'metrics')
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}

/**
 * Of a writer process. With several writers, writer n listens on `metricsPort` + n.
 * @param {{ settings: any, index: number, redisUrl: string, replicaUrls: string[] | null, log: import('pino').Logger }} parts
 * @throws {import('../src/errors.js').FreshetError} as serveRegistry
 */
export async function serveMetrics ({ settings, index, redisUrl, replicaUrls, log }) {
  const servers = await openServers(settings, { redisUrl, replicaUrls, name: `freshet-metrics-${process.pid}`, log })
  const metrics = createWriterMetrics({ figures: servers.figures })
  const status = () => {
    const now = metrics.status()
    return now.feeds > 0 ? now : { ...now, ready: false, reasons: ['SERVER_LOST: the feed is not open'] }
  }
  const writerSettings = { ...settings, metricsPort: settings.metricsPort && settings.metricsPort + index }
  const server = await serveRegistry(writerSettings, { registry: metrics.registry, status, log }).catch(async (error) => {
    await servers.close()
    throw error
  })
  return {
    metrics,
    async close () {
      await server.close()
      await servers.close()
    }
  }
}
