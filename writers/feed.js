/**
 * `npm start writer`: writes items to a feed: synthetic, from a file or from standard input. A process file: it resolves settings
 * and servers, runs one writer in this process or several as child processes, and prints the summary.
 */
import { optionsOf, printable, settingsOf } from '../settings.js'
import { layoutNames } from '../src/layouts/index.js'
import { runProcess, tellParent, visibleJson } from '../src/runtime/index.js'
import { ackNames, decidedOf } from '../src/pipeline/index.js'
import { runWriters } from './crew.js'
import { createProgress } from './progress.js'
import { openServers } from './servers.js'
import { exitStatusOf, summaryOf, summaryText } from './summary.js'
import { writeFeed } from './write-feed.js'

const USAGE = `Usage: npm start writer -- [flags]

Writes items to a feed until --items, --duration, the end of its input, or Ctrl-C. At the end it prints a summary.

Examples:
  npm start writer -- --feed load --rate 50000 --duration 10
  npm start writer -- --feed load-segments --rate 0 --items 1000000 --layout segments --writers 2
  npm start writer -- --source stdin --format csv --id-field vehicle --ts-field time < positions.csv
  npm start writer -- --source stdin --replay 10 < recorded.ndjson
  npm start writer -- --redis-url redis://127.0.0.1:6379 --feed ticks --window-ms 3600000`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export const main = (from) => runProcess(from, {
  table: { printable, settingsOf },
  known: { command: 'writer', layouts: layoutNames(), acks: ackNames() },
  usage: USAGE,
  stopping: 'stopping: flushing'
}, write)

/**
 * A writer in this process, or several as child processes, until the source ends or the signal is aborted.
 * @param {any} settings @param {import('../src/embedded/index.js').Target} target
 * @param {import('pino').Logger} log @param {AbortSignal} signal
 * @param {import('./records.js').Streams & { stdout: { write: (text: string) => unknown, isTTY?: boolean } }} [streams]
 * @returns {Promise<number>} exit status
 */
export async function write (settings, { primaryUrl, replicaUrls }, log, signal, streams = process) {
  const servers = await openServers(settings, { redisUrl: primaryUrl, replicaUrls, name: `freshet-writer-${process.pid}:figures`, log })
  const progress = createProgress({ log, quiet: settings.logLevel === 'silent' })
  /** @type {import('./metrics-server.js').MetricsServer | null} */
  let metrics = null
  try {
    if (settings.writers === 1 && settings.metricsPort !== null) {
      // HTTP takes a third of the time to start
      const { serveMetrics } = await import('./metrics-server.js')
      metrics = await serveMetrics({ settings, index: 0, redisUrl: primaryUrl, replicaUrls, log })
    }
    let before = await servers.figures()
    let afterWarmUp = Promise.resolve()
    let layout = /** @type {string | null} */ (null)
    const onOpened = (/** @type {string} */ stored) => {
      // the first of several writers
      if (layout !== null) return
      layout = stored
      tellParent({ event: 'up', engine: before[0]?.engine, layout })
    }
    const onMeasuring = () => {
      tellParent({ event: 'measuring' })
      if (settings.warmUp > 0) afterWarmUp = servers.figures().then((figures) => { before = figures })
    }
    const common = { settings, redisUrl: primaryUrl, log, signal, onOpened, onMeasuring }
    const { tallies, error } = settings.writers === 1
      ? await runHere({ ...common, options: optionsOf(settings), metrics: metrics?.metrics, progress, streams })
      : await runWriters({ ...common, onProgress: progress.update })
    progress.close()
    // with several writers, runWriters has logged it
    if (error && settings.writers === 1) log.error({ code: /** @type {any} */ (error).code }, error.message)
    await afterWarmUp
    const stored = { ...settings, layout: layout ?? settings.layout }
    const summary = summaryOf({ settings: stored, tallies, before, after: await servers.figures() })
    await tellParent({ event: 'ended', acknowledged: tallies.map(({ account }) => decidedOf(account)) })
    const isText = streams.stdout.isTTY && !settings.json
    streams.stdout.write(isText ? summaryText(summary, { color: !process.env.NO_COLOR }) : visibleJson(summary) + '\n')
    return exitStatusOf(settings, tallies, error)
  } finally {
    progress.close()
    await servers.close()
    await metrics?.close()
  }
}

/**
 * @param {Omit<Parameters<typeof writeFeed>[0], 'index' | 'onOpened'> &
 *   { progress: ReturnType<typeof createProgress>, onOpened: (layout: string) => void }} parts
 */
async function runHere ({ progress, onOpened, ...parts }) {
  const { error, ...tally } = await writeFeed({
    ...parts,
    index: 0,
    onOpened ({ pipeline, definition }) {
      progress.update(0, pipeline.account)
      onOpened(definition.layout)
    }
  })
  return { tallies: [tally], error }
}
