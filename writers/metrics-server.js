/**
 * /metrics, /livez and /readyz of a writer process, on `host` and `metricsPort`. With several writers, writer n listens on
 * `metricsPort` + n.
 */
import { createServer, healthRoutes, listen, openSecurity } from '../src/http/index.js'
import { createWriterMetrics, startEmbedded } from '../src/metrics/index.js'
import { watchNodes } from '../src/store/index.js'

/** @typedef {Awaited<ReturnType<typeof serveMetrics>>} MetricsServer */

/**
 * @param {{ settings: any, index: number, redisUrl: string, replicaUrls: string[] | null, log: import('pino').Logger }} parts
 * @throws {import('../src/errors.js').FreshetError} PORT_IN_USE, and those of openSecurity
 */
export async function serveMetrics ({ settings, index, redisUrl, replicaUrls, log }) {
  const security = await openSecurity(settings, { log })
  const nodes = await watchNodes({
    primaryUrl: redisUrl,
    replicaUrls,
    withReplicas: settings.readFrom !== 'primary',
    name: `freshet-metrics-${process.pid}`,
    deadlineMs: settings.deadlineMs
  })
  const metrics = createWriterMetrics({ figures: nodes.figures })
  const app = createServer({ registry: metrics.registry, security })
  const status = () => {
    const now = metrics.status()
    return now.feeds > 0 ? now : { ...now, ready: false, reasons: ['SERVER_LOST: the feed is not open'] }
  }
  app.register(healthRoutes, { status, registry: metrics.registry })
  const embedded = startEmbedded(metrics.registry, settings.cloudwatchService)
  const close = async () => {
    await embedded.close()
    await app.close()
    security.close()
    await nodes.close()
  }
  try {
    const url = await listen(app,
      { host: settings.host, port: settings.metricsPort && settings.metricsPort + index, setting: 'metrics-port' })
    log.info({ url: `${url}/metrics` }, 'metrics')
  } catch (error) {
    await close()
    throw error
  }
  return { metrics, close }
}
