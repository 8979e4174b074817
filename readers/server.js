/**
 * `npm start reader`: serves feeds over HTTP. A process file: settings, servers, app, listen, stop.
 */
import { optionsOf, printable, settingsOf } from '../settings.js'
import { expectFreePort, listen, openSecurity } from '../src/http/index.js'
import { openReader } from '../src/index.js'
import { insideOfReader } from '../src/inside.js'
import { layoutNames } from '../src/layouts/index.js'
import { aborted, lastFromParent, runProcess, tellParent } from '../src/runtime/index.js'
import { createReaderRegistry, startEmbedded } from '../src/metrics/index.js'
import { loadSystems, settingsOfModules } from '../src/systems/list.js'
import { createReaderApp } from './app.js'
import { createReaderDatabase, openSystems } from './systems.js'

const USAGE = `Usage: npm start reader -- [flags]

Serves feeds over HTTP until Ctrl-C.

Examples:
  npm start reader -- --port 8080
  npm start reader -- --redis-url redis://127.0.0.1:6379 --read-from replica --views all`
const CLOSE_WITHIN_MS = 3000
/** @typedef {import('../src/index.js').Reader} Reader */

/** Its second argument is for this process only. */
const openServing = /** @type {(options: any, serving: import('../src/view/index.js').Serving) => Promise<Reader>} */ (openReader)

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export const main = (from) => runProcess(from, {
  table: { printable, settingsOf },
  context: { command: 'reader', layouts: layoutNames(), acks: [], settingsOfModules },
  usage: USAGE,
  check: ({ host, port }) => expectFreePort({ host, port, setting: 'port' }),
  stopping: 'stopping'
}, (settings, target, log, signal) => serve(settings, target, log, signal, tellParent, lastFromParent('restarts')))

/**
 * A reader in this process until the signal is aborted.
 * @param {any} settings @param {import('../src/embedded/index.js').Target} target
 * @param {import('pino').Logger} log @param {AbortSignal} signal
 * @param {(message: Record<string, unknown>) => unknown} [up] is called with its `url` once it listens
 * @param {() => { restarts: object[] } | null} [heard] of the processes that `npm start` runs
 * @returns {Promise<number>} exit status
 */
export async function serve (settings, { primaryUrl, replicaUrls }, log, signal, up = tellParent, heard = () => null) {
  const { maxStaleMs, maxUnconfirmedMs, maxStreams, maxStreamsPerToken } = settings
  // before anything is open: a module that cannot be loaded ends the process
  const definitions = await loadSystems(settings.systems)
  const security = await openSecurity(settings, { log })
  // servers may become reachable later; until then /readyz and the log give the reasons
  const options = { ...optionsOf(settings), redisUrl: primaryUrl, replicaUrl: replicaUrls ?? undefined, log }
  const reader = await openServing(options, { discover: true, isPatient: true, maxStaleMs })
  const { queries, deployment } = insideOfReader(reader)
  const database = createReaderDatabase({ ...settings, log })
  const registry = createReaderRegistry(deployment, queries.figures)
  const embedded = startEmbedded(registry, settings.cloudwatchService)
  const isShared = () => security.access === null
  const systems = openSystems(definitions, {
    deployment, registry, signal, log, settings, database, isShared
  })
  /** @type {import('fastify').FastifyInstance | null} */
  let app = null
  try {
    app = createReaderApp({
      queries,
      registry,
      logger: log,
      maxStaleMs,
      maxUnconfirmedMs,
      security,
      caps: { maxStreams, maxStreamsPerToken },
      deployment,
      systems,
      database,
      gatewayUrl: settings.gatewayUrl && new URL(settings.gatewayUrl).origin,
      keyPrefix: settings.keyPrefix,
      // until its parent has sent any, none has started again
      restarts: () => heard()?.restarts ?? (process.connected ? [] : null)
    })
    const url = await listen(app, { ...settings, setting: 'port' })
    log.info({ url }, `serving at ${url}`)
    const { ready, reasons } = queries.status()
    if (!ready) log.info({ reasons }, 'not ready yet')
    up({ event: 'up', url })
    await aborted(signal)
    return 0
  } finally {
    const { server } = app ?? {}
    const timer = setTimeout(() => server?.closeAllConnections(), CLOSE_WITHIN_MS)
    await app?.close()
    clearTimeout(timer)
    await embedded.close()
    security.close()
    await systems.close()
    await database.close()
    await reader.close()
  }
}
