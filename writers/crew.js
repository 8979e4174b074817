/**
 * Several writers, a process each. They share the ids out, begin together when all have opened the feed, report once a
 * second, and are told to stop together; one that dies counts what it had offered and not yet acknowledged as failed.
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
 * @throws {Error} when none of them could open the feed
 */
export async function runWriters ({ settings, redisUrl, log, signal, onProgress, onMeasuring }) {
  const members = Array.from({ length: settings.writers }, (_, index) => followWriter(index, { log, onProgress }))
  await runCrew({
    file: WORKER,
    size: members.length,
    order: { settings, redisUrl },
    stdout: 'inherit',
    signal,
    onMeasuring,
    onMessage: (index, message) => members[index].hear(message),
    onEnded: (index, { last, fault }) => members[index].end(last, fault)
  })
  const results = members.map(({ result }) => result())
  const error = results.find((result) => result.error)?.error ?? null
  // none of them got as far as an item: there is nothing to sum up
  if (error && results.every((result) => result.error && result.tally.account.offered === 0)) throw error
  return { tallies: results.map((result) => result.tally), error }
}

/** What one of them did, as far as is known. @param {number} index @param {Pick<Parameters<typeof runWriters>[0], 'log' | 'onProgress'>} parts */
function followWriter (index, { log, onProgress }) {
  let tally = nothing()
  let measuringSince = 0
  /** @type {Error | null} */
  let error = null

  return {
    /** @param {any} message */
    hear ({ event, account }) {
      if (event === 'measuring') {
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
        if (last.error) error = Object.assign(new Error(last.error.message), last.error)
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
