/**
 * Several writers, a process each. They share the ids out, begin together when all have opened the feed, report once a
 * second, and are told to stop together; one that dies counts what it had offered and not yet acknowledged as failed.
 */
import { fork } from 'node:child_process'
import { addAccounts, refusedOf } from '../src/pipeline/account.js'
import { nothing } from './tally.js'

const WORKER = new URL('./worker.js', import.meta.url)

/** @typedef {import('./tally.js').Tally} Tally */

/**
 * @param {{ settings: any, redisUrl: string, log: import('pino').Logger, signal: AbortSignal,
 *   onProgress: (index: number, account: Tally['account']) => void, onMeasuring: () => void }} parts
 *   `onMeasuring`: the warm-up is over, for all of them
 * @returns {Promise<{ tallies: Tally[], error: Error | null }>}
 * @throws {Error} when none of them could open the feed
 */
export async function runCrew ({ onMeasuring, ...parts }) {
  const { writers } = parts.settings
  /** @type {(() => void)[]} */
  const starts = []
  const opened = createGate(writers, () => starts.forEach((start) => start()))
  let isMeasuring = false
  const measuring = createGate(writers, () => { if (isMeasuring) onMeasuring() })

  const results = await Promise.all(Array.from({ length: writers }, (_, index) => runOne({
    ...parts,
    index,
    onOpened (start) {
      starts.push(start)
      opened(index)
    },
    onMeasuring () {
      isMeasuring = true
      measuring(index)
    },
    // nobody waits for it any more
    onEnded () {
      opened(index)
      measuring(index)
    }
  })))
  const error = results.find((result) => result.error)?.error ?? null
  // none of them got as far as an item: there is nothing to sum up
  if (error && results.every((result) => result.error && result.tally.account.offered === 0)) throw error
  return { tallies: results.map((result) => result.tally), error }
}

/** Calls `then` once all have come, each as often as it likes. @param {number} all @param {() => void} then */
function createGate (all, then) {
  /** @type {Set<number>} */
  const come = new Set()
  return (/** @type {number} */ index) => {
    if (come.has(index)) return
    come.add(index)
    if (come.size === all) then()
  }
}

/**
 * @param {Omit<Parameters<typeof runCrew>[0], 'onMeasuring'> & { index: number, onOpened: (start: () => void) => void,
 *   onMeasuring: () => void, onEnded: () => void }} parts `onOpened`: it writes nothing before it is told to start
 * @returns {Promise<{ tally: Tally, error: (Error & { code?: string, exitStatus?: number }) | null }>}
 */
function runOne ({ settings, redisUrl, index, log, signal, onProgress, onOpened, onMeasuring, onEnded }) {
  const child = fork(WORKER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const send = (/** @type {object} */ message) => { if (child.connected) child.send(message, () => {}) }
  const stop = () => send({ event: 'stop', reason: signal.reason })
  let tally = nothing()
  let measuringSince = 0
  /** @type {any} */
  let error = null
  let done = false

  send({ event: 'start', settings, redisUrl, index })
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  child.on('message', (/** @type {any} */ message) => {
    if (message.event === 'opened') onOpened(() => send({ event: 'go' }))
    else if (message.event === 'measuring') {
      measuringSince = Date.now()
      tally.account = message.account
      tally.since = addAccounts([message.account])
      onMeasuring()
    } else if (message.event === 'progress') {
      tally.account = message.account
      onProgress(index, message.account)
    } else if (message.event === 'done') {
      done = true
      tally = message.tally
      if (message.error) error = Object.assign(new Error(message.error.message), message.error)
      onProgress(index, tally.account)
    }
  })
  child.once('error', (cause) => { error = cause })
  return new Promise((resolve) => {
    child.once('exit', (code, killedBy) => {
      signal.removeEventListener('abort', stop)
      if (!done) {
        const { account } = tally
        if (measuringSince === 0) tally.since = addAccounts([account])
        else tally.seconds = (Date.now() - measuringSince) / 1000
        account.failed = account.offered - account.items - account.dropped - refusedOf(account)
        error = new Error(`writer ${index} died (${killedBy ?? `exit ${code}`}); its last report counts, the rest of its items as failed`)
        log.error({ writer: index, killedBy, code }, 'a writer died')
      }
      onEnded()
      resolve({ tally, error })
    })
  })
}
