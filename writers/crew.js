/**
 * Several writers, a process each. They share the ids out, report once a second, and are told to stop together; one
 * that dies counts what it had offered and not yet acknowledged as failed.
 */
import { fork } from 'node:child_process'
import { refusedOf } from '../src/pipeline/account.js'
import { nothing } from './tally.js'

const WORKER = new URL('./worker.js', import.meta.url)

/** @typedef {import('./tally.js').Tally} Tally */

/**
 * @param {{ settings: any, redisUrl: string, log: import('pino').Logger, signal: AbortSignal,
 *   onProgress: (index: number, account: Tally['account']) => void }} parts
 * @returns {Promise<{ tallies: Tally[], error: Error | null }>}
 * @throws {Error} when none of them could open the feed
 */
export async function runCrew ({ settings, redisUrl, log, signal, onProgress }) {
  const results = await Promise.all(Array.from({ length: settings.writers }, (_, index) =>
    runOne({ settings, redisUrl, index, log, signal, onProgress })))
  const error = results.find((result) => result.error)?.error ?? null
  // none of them got as far as an item: there is nothing to sum up
  if (error && results.every((result) => result.error && result.tally.account.offered === 0)) throw error
  return { tallies: results.map((result) => result.tally), error }
}

/**
 * @param {Parameters<typeof runCrew>[0] & { index: number }} parts
 * @returns {Promise<{ tally: Tally, error: (Error & { code?: string, exitStatus?: number }) | null }>}
 */
function runOne ({ settings, redisUrl, index, log, signal, onProgress }) {
  const startedAt = Date.now()
  const child = fork(WORKER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const stop = () => { if (child.connected) child.send({ event: 'stop', reason: signal.reason }, () => {}) }
  let tally = nothing()
  /** @type {any} */
  let error = null
  let done = false

  child.send({ event: 'start', settings, redisUrl, index }, () => {})
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  child.on('message', (/** @type {any} */ message) => {
    if (message.event === 'progress') {
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
        account.failed = account.offered - account.items - account.dropped - refusedOf(account)
        tally.seconds = (Date.now() - startedAt) / 1000
        error = new Error(`writer ${index} died (${killedBy ?? `exit ${code}`}); its last report counts, the rest of its items as failed`)
        log.error({ writer: index, killedBy, code }, 'a writer died')
      }
      resolve({ tally, error })
    })
  })
}
