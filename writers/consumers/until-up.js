/** Consumers wait for what does not answer when they start, as gateways and readers do. */
import { setTimeout as sleep } from 'node:timers/promises'

const AGAIN_MS = 1000

/**
 * @template T
 * @param {() => Promise<T>} run
 * @param {{ signal: AbortSignal, log: import('pino').Logger, words: string, onWait?: (error: Error & { code?: string }) => void }} parts
 *   `words`: logged with the reason of the first failure; `onWait`: after each
 * @returns {Promise<T>} once it succeeds @throws what is not retryable or needs other settings, or the reason of the signal
 */
export async function untilUp (run, { signal, log, words, onWait = () => {} }) {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      return await run()
    } catch (error) {
      if (!error.retryable || error.exitStatus === 2) throw error
      if (attempt === 1) log.warn({ code: error.code, reason: error.message }, words)
      onWait(error)
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
  }
}
