/**
 * `npm start gateway`: appends items that come over HTTP. A process file: settings, servers, app, listen, stop.
 */
import { optionsOf, printable, settingsOf } from '../settings.js'
import { expectFreePort, listen, openSecurity } from '../src/http/index.js'
import { openFeed } from '../src/index.js'
import { insideOfFeed } from '../src/inside.js'
import { layoutNames } from '../src/layouts/index.js'
import { aborted, runProcess, tellParent } from '../src/runtime/index.js'
import { createWriterMetrics, startEmbedded } from '../src/metrics/index.js'
import { ackNames } from '../src/pipeline/index.js'
import { SERVERS_FAILED } from '../src/embedded/index.js'
import { createServers, expectReplicas } from '../src/store/index.js'
import { loadSystems, settingsOfModules } from '../src/systems/list.js'
import { createGatewayApp, stopGateway } from './gateway/app.js'
import { createDefinitions, createFeedLimit } from './gateway/definitions.js'
import { createFeeds, openingOptions } from './gateway/feeds.js'
import { openSystems } from './gateway/systems.js'

const USAGE = `Usage: npm start gateway -- [flags]

Accepts items over HTTP and writes them to feeds, until Ctrl-C.

Examples:
  npm start gateway -- --port 8081
  npm start gateway -- --redis-url redis://127.0.0.1:6379 --layout segments --window-ms 600000`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export const main = (from) => runProcess(from, {
  table: { printable, settingsOf },
  context: { command: 'gateway', layouts: layoutNames(), acks: ackNames(), settingsOfModules },
  usage: USAGE,
  check: ({ host, port }) => expectFreePort({ host, port, setting: 'port' }),
  stopping: 'stopping: answering requests and flushing items'
}, serve)

/**
 * A gateway in this process until the signal is aborted.
 * @param {any} settings @param {import('../src/embedded/index.js').Target} target
 * @param {import('pino').Logger} log @param {AbortSignal} signal
 * @param {(message: Record<string, unknown>) => unknown} [up] is called with its `url` once it listens
 * @returns {Promise<number>} exit status
 */
export async function serve (settings, { primaryUrl, replicaUrls }, log, signal, up = tellParent) {
  // before anything is open: a module that cannot be loaded ends the process
  const systemDefinitions = await loadSystems(settings.systems)
  const security = await openSecurity(settings, { log })
  const { readFrom, keyPrefix, deadlineMs, ack } = settings
  const name = `freshet-gateway-${process.pid}`
  const servers = createServers({
    redisUrl: primaryUrl, replicaUrls, readFrom, isReading: false, name, primaryName: 'control', deadlineMs, log
  })
  const definitions = createDefinitions({ servers, primaryUrl, keyPrefix, name, deadlineMs })
  const metrics = createWriterMetrics({ figures: servers.figures })
  const feeds = createFeeds({
    // ingest.js applies whenFull to whole requests, before they are appended
    open: async (name, stored) => insideOfFeed(await openFeed(name, {
      ...openingOptions(optionsOf(settings), stored),
      redisUrl: primaryUrl,
      whenFull: 'block',
      log,
      onFlush: (seconds) => metrics.flush(name, seconds),
      onBehind: (behindMs) => metrics.behind(name, behindMs)
    })),
    definition: definitions.definition,
    admit: createFeedLimit({ maxFeeds: settings.maxFeeds, count: definitions.count }).admit,
    onOpen: ({ name, writer }) => metrics.follow(name, writer),
    onClose: ({ name }) => metrics.unfollow(name),
    log
  })
  const embedded = startEmbedded(metrics.registry, settings.cloudwatchService)
  const systems = openSystems(settings, systemDefinitions, { servers, registry: metrics.registry, log, signal })
  try {
    await servers.ready.catch((error) => { if (!error.retryable) throw error })
    await expectReplicas(servers.primaryConnections(), ack, 'ack')
    await systems.check()
    const app = createGatewayApp({
      status () {
        const reasons = [...servers.problems(), ...feeds.reasons(), ...systems.reasons()]
        return { ready: reasons.length === 0, reasons, notes: systems.notes(), nodes: [] }
      },
      use: servers.use,
      feeds,
      systems: systems.all,
      putFeed: (feed, asked) => definitions.putFeed({ feed, asked, defaults: settings }),
      settings,
      security,
      stopping: signal,
      registry: metrics.registry,
      logger: log
    })
    const url = await listen(app, { ...settings, setting: 'port' })
    log.info({ url }, `taking items at ${url}`)
    up({ event: 'up', url })
    await aborted(signal)
    return await stopGateway({ app, feeds, drainMs: signal.reason === SERVERS_FAILED ? 0 : settings.drainMs, log })
  } finally {
    await feeds.close({ drainMs: 0 })
    await embedded.close()
    await systems.close()
    await servers.close()
    security.close()
  }
}
