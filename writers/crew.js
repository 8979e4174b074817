/**
 * Several writer processes. They divide the ids, start together when all have opened the feed, report once a second, and stop
 * together.
 *
 * - A writer that fails before it has opened the feed (its port is in use) stops all before anything is written.
 * - A writer that fails later is logged at once; the others continue.
 * - Of a writer that dies, items offered and not acknowledged count as failed.
 */
import { runCrew } from '../src/runtime/index.js'
import { addAccounts, refusedOf } from '../src/pipeline/index.js'
import { emptyTally } from '../src/summary/index.js'

const WORKER = new URL('./worker.js', import.meta.url)

/** @typedef {import('../src/summary/index.js').Tally} Tally */

/**
 * @param {{ settings: any, redisUrl: string, log: import('pino').Logger, signal: AbortSignal,
 *   onProgress: (index: number, account: Tally['account']) => void, onOpened: (layout: string) => void, onMeasuring: () => void }} parts
 *   `onOpened`: each has opened the feed, which is stored in this layout; `onMeasuring`: the warm-up of all writers is over
 * @returns {Promise<{ tallies: Tally[], error: Error | null }>}
 * @throws {Error} when a writer could not start
 */
export async function runWriters ({ settings, redisUrl, log, signal, onProgress, onOpened, onMeasuring }) {
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
