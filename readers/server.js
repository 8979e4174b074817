/**
 * `npm start reader`: answers questions about feeds over HTTP. A process file: settings, servers, app, listen, stop.
 */
import { help, optionsOf, printable, resolve } from '../settings.js'
import { listen } from '../src/http/listen.js'
import { openReader } from '../src/index.js'
import { layoutNames } from '../src/layouts/index.js'
import { aborted, listenForStop, tellParent } from '../src/lifecycle.js'
import { createLog } from '../src/log.js'
import { createReaderRegistry } from '../src/metrics.js'
import { withTarget } from '../src/store/target.js'
import { createReaderApp } from './app.js'

const USAGE = 'Usage: npm start reader -- [flags]\n\nServes feeds over HTTP, from replicas, until Ctrl-C.'
const CLOSE_WITHIN_MS = 3000

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} process
 * @returns {Promise<number>} exit status
 */
export async function main ({ argv, env }) {
  const known = { command: 'reader', layouts: layoutNames(), acks: [] }
  if (argv.includes('--help')) {
    process.stdout.write(await help(known, USAGE) + '\n')
    return 0
  }
  /** @type {any} */
  const settings = resolve(argv, env, known)
  const log = createLog({ level: settings.logLevel, role: 'reader' })
  log.info({ settings: printable(settings) }, 'settings')
  const stopping = listenForStop({ onStop: (reason) => log.info({ reason }, 'stopping') })
  try {
    return await withTarget(settings, { env, report: (line) => log.info(line), stopping }, (target) =>
      serve(settings, target, log, stopping.signal))
  } finally {
    stopping.done()
  }
}

/**
 * @param {any} settings @param {import('../src/store/target.js').Target} target
 * @param {import('pino').Logger} log @param {AbortSignal} signal
 */
async function serve (settings, { primaryUrl, replicaUrls }, log, signal) {
  const { ask, deployment, close } = await openReader({ ...optionsOf(settings), redisUrl: primaryUrl, replicaUrl: replicaUrls ?? undefined, log })
  try {
    const app = createReaderApp({ ask, registry: createReaderRegistry(deployment), logger: log, maxStaleMs: settings.maxStaleMs, authToken: settings.authToken })
    const url = await listen(app, { ...settings, setting: 'port' })
    log.info({ url }, `serving at ${url}`)
    const { ready, reasons } = ask.status()
    if (!ready) log.warn({ reasons }, 'not ready')
    tellParent({ event: 'up', url })
    await aborted(signal)
    const timer = setTimeout(() => app.server.closeAllConnections(), CLOSE_WITHIN_MS)
    await app.close()
    clearTimeout(timer)
    return 0
  } finally {
    await close()
  }
}
