/**
 * `npm start writer`: writes items to a feed: synthetic, from a file or from standard input. A process file: it resolves settings
 * and servers, runs one writer in this process or several as child processes, and prints the summary.
 */
import { optionsOf, printable, settingsOf } from '../settings.js'
import { layoutNames } from '../src/layouts/index.js'
import { ackNames, addAccounts, decidedOf, refusedOf } from '../src/pipeline/index.js'
import { runCrew, runProcess, tellParent, visibleJson } from '../src/runtime/index.js'
import { emptyTally } from '../src/summary/index.js'
import { openServers } from './metrics-server.js'
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
  context: { command: 'writer', layouts: layoutNames(), acks: ackNames() },
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

/**
 * Progress of a writer, once a second: a line that is overwritten on a terminal, a log line elsewhere. The rate is that
 * of all items that the servers decided on, late ones too.
 */

const EVERY_MS = 1000
/** ECMA-48 8.3.41 */
const ERASE_LINE = '\x1b[2K'

/**
 * @param {{ log: import('pino').Logger, quiet?: boolean, terminal?: boolean, write?: (text: string) => void }} options
 */
function createProgress ({ log, quiet = false, terminal = process.stderr.isTTY, write = (text) => process.stderr.write(text) }) {
  /** @type {import('../src/pipeline/index.js').Account[]} */
  const accounts = []
  let lastDecided = 0
  let lastAt = performance.now()
  const started = lastAt
  let drawn = false

  const timer = quiet ? undefined : setInterval(show, EVERY_MS)

  function show () {
    if (accounts.length === 0) return
    const now = performance.now()
    // writers that have not reported yet are holes in the array
    const account = addAccounts(accounts.filter(() => true))
    const { offered, items, dropped, retried } = account
    const decided = decidedOf(account)
    const itemsPerSecond = Math.round((decided - lastDecided) * 1000 / (now - lastAt))
    lastDecided = decided
    lastAt = now
    const late = decided - items
    const refused = refusedOf(account) - late
    const figures = { items, itemsPerSecond, unacknowledged: offered - decided - refused - dropped, late, refused, dropped, retried }
    if (!terminal) return log.info(figures, 'writing')
    const { unacknowledged } = figures
    const others = Object.entries({ unacknowledged, late, refused, dropped, retried }).filter(([, n]) => n > 0)
    const counts = others.map(([name, n]) => `  ${grouped(n)} ${name}`).join('')
    write(
      `\r${ERASE_LINE}${Math.round((now - started) / 1000)} s  ${grouped(itemsPerSecond)} items/s  ${grouped(items)} acknowledged${counts}`
    )
    drawn = true
  }

  return {
    /** @param {number} index of the writer @param {typeof accounts[0]} account */
    update (index, account) { accounts[index] = account },
    close () {
      clearInterval(timer)
      if (drawn) write('\n')
      drawn = false
    }
  }
}

/** @param {number} n */
const grouped = (n) => n.toLocaleString('en')

/**
 * Several writer processes. They divide the ids, start together when all have opened the feed, report once a second, and stop
 * together.
 *
 * - A writer that fails before it has opened the feed (its port is in use) stops all before anything is written.
 * - A writer that fails later is logged at once; the others continue.
 * - Of a writer that dies, items offered and not acknowledged count as failed.
 */

const WORKER = new URL('./worker.js', import.meta.url)

/** @typedef {import('../src/summary/index.js').Tally} Tally */

/**
 * @param {{ settings: any, redisUrl: string, log: import('pino').Logger, signal: AbortSignal,
 *   onProgress: (index: number, account: Tally['account']) => void, onOpened: (layout: string) => void, onMeasuring: () => void }} parts
 *   `onOpened`: each has opened the feed, which is stored in this layout; `onMeasuring`: the warm-up of all writers is over
 * @returns {Promise<{ tallies: Tally[], error: Error | null }>}
 * @throws {Error} when a writer could not start
 */
async function runWriters ({ settings, redisUrl, log, signal, onProgress, onOpened, onMeasuring }) {
  const ending = new AbortController()
  const stop = () => ending.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const onStartFailed = () => ending.abort('a writer could not start')
  const members = Array.from({ length: settings.writers }, (_, index) => followWriter(index, { log, onProgress, onOpened, onStartFailed }))
  await runCrew({
    file: WORKER,
    size: members.length,
    order: { settings, redisUrl },
    stdout: 'inherit',
    signal: ending.signal,
    onMeasuring,
    onMessage: (index, message) => members[index].receive(message),
    onEnded: (index, { last, fault }) => members[index].end(last, fault)
  })
  signal.removeEventListener('abort', stop)
  const results = members.map(({ result }) => result())
  const error = results.find((result) => result.error)?.error ?? null
  // without any item there is no summary
  if (error && results.every((result) => result.tally.account.offered === 0)) throw error
  return { tallies: results.map((result) => result.tally), error }
}

/**
 * The account of one writer, from its messages.
 * @param {number} index
 * @param {Pick<Parameters<typeof runWriters>[0], 'log' | 'onProgress' | 'onOpened'> & { onStartFailed: () => void }} parts `onStartFailed`:
 *   it failed before it had opened the feed
 */
function followWriter (index, { log, onProgress, onOpened, onStartFailed }) {
  let tally = emptyTally()
  let hasOpened = false
  let measuringSince = 0
  /** @type {Error | null} */
  let error = null

  /** @param {Error & { code?: string }} reported */
  function fail (reported) {
    error = Object.assign(new Error(reported.message), reported)
    if (!hasOpened) onStartFailed()
    else log.error({ writer: index, code: reported.code }, `a writer failed: ${reported.message}`)
  }

  return {
    /** @param {any} message */
    receive ({ event, account, layout }) {
      if (event === 'opened') {
        hasOpened = true
        onOpened(layout)
      } else if (event === 'measuring') {
        measuringSince = Date.now()
        tally.account = account
        tally.since = addAccounts([account])
      } else if (event === 'progress') {
        tally.account = account
        onProgress(index, account)
      }
    },

    /** @param {any} last @param {string | null} fault how it ended without a last message */
    end (last, fault) {
      if (last) {
        tally = last.tally
        if (last.error) fail(last.error)
        return onProgress(index, tally.account)
      }
      const { account } = tally
      if (measuringSince === 0) tally.since = addAccounts([account])
      else tally.seconds = (Date.now() - measuringSince) / 1000
      account.failed = account.offered - account.items - account.dropped - refusedOf(account)
      error = new Error(`writer ${index} died (${fault}); items since its last report count as failed`)
      log.error({ writer: index, fault }, 'a writer died')
    },

    result: () => ({ tally, error })
  }
}
