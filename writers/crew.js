/**
 * Several writers, a process each. They share the ids out, begin together when all have opened the feed, report once a
 * second, and are told to stop together. One that cannot begin (its port is in use) ends all of them before anything is
 * written; one that fails later is told at once, and the others go on; one that dies counts what it had offered and not yet
 * acknowledged as failed.
 */
import { runCrew } from '../src/crew.js'
import { addAccounts, refusedOf } from '../src/pipeline/account.js'
import { nothing } from '../src/pipeline/tally.js'

const WORKER = new URL('./worker.js', import.meta.url)

/** @typedef {import('../src/pipeline/tally.js').Tally} Tally */

/**
 * @param {{ settings: any, redisUrl: string, log: import('pino').Logger, signal: AbortSignal,
 *   onProgress: (index: number, account: Tally['account']) => void, onMeasuring: () => void }} parts
 *   `onMeasuring`: the warm-up is over, for all of them
 * @returns {Promise<{ tallies: Tally[], error: Error | null }>}
 * @throws {Error} when one of them could not begin
 */
export async function runWriters ({ settings, redisUrl, log, signal, onProgress, onMeasuring }) {
  const ending = new AbortController()
  const stop = () => ending.abort(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const onStillborn = () => ending.abort('a writer could not begin')
  const members = Array.from({ length: settings.writers }, (_, index) => followWriter(index, { log, onProgress, onStillborn }))
  await runCrew({
    file: WORKER,
    size: members.length,
    order: { settings, redisUrl },
    stdout: 'inherit',
    signal: ending.signal,
    onMeasuring,
    onMessage: (index, message) => members[index].hear(message),
    onEnded: (index, { last, fault }) => members[index].end(last, fault)
  })
  signal.removeEventListener('abort', stop)
  const results = members.map(({ result }) => result())
  const error = results.find((result) => result.error)?.error ?? null
  // none of them got as far as an item: there is nothing to sum up
  if (error && results.every((result) => result.tally.account.offered === 0)) throw error
  return { tallies: results.map((result) => result.tally), error }
}

/**
 * What one of them did, as far as is known.
 * @param {number} index
 * @param {Pick<Parameters<typeof runWriters>[0], 'log' | 'onProgress'> & { onStillborn: () => void }} parts `onStillborn`: it
 *   failed before it had opened the feed, so nobody has begun yet
 */
function followWriter (index, { log, onProgress, onStillborn }) {
  let tally = nothing()
  let hasOpened = false
  let measuringSince = 0
  /** @type {Error | null} */
  let error = null

  /** @param {Error & { code?: string }} told */
  function fail (told) {
    error = Object.assign(new Error(told.message), told)
    if (!hasOpened) onStillborn()
    else log.error({ writer: index, code: told.code }, `a writer failed: ${told.message}`)
  }

  return {
    /** @param {any} message */
    hear ({ event, account }) {
      if (event === 'opened') hasOpened = true
      else if (event === 'measuring') {
        measuringSince = Date.now()
        tally.account = account
        tally.since = addAccounts([account])
      } else if (event === 'progress') {
        tally.account = account
        onProgress(index, account)
      }
    },

    /** @param {any} last @param {string | null} fault how it ended without a last word */
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
      error = new Error(`writer ${index} died (${fault}); its last report counts, the rest of its items as failed`)
      log.error({ writer: index, fault }, 'a writer died')
    },

    result: () => ({ tally, error })
  }
}
