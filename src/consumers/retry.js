/** Attempts with exponential back-off and full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015). */
import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_MS = 50
const LONGEST_MS = 5000

/**
 * @template T
 * @param {() => Promise<T>} run
 * @param {{ attempts: number, signal: AbortSignal, onFailure?: (error: Error, attempt: number) => void }} options `attempts`: at most;
 *   errors with `retryable: true` do not count, because they are the server's
 * @returns {Promise<T>} @throws the last error, or the reason of the signal
 */
export async function retry (run, { attempts, signal, onFailure = () => {} }) {
  for (let attempt = 1, counted = 0; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      signal.throwIfAborted()
      onFailure(error, attempt)
      if (!error.retryable && ++counted >= attempts) throw error
    }
    await sleep(Math.random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** attempt), undefined, { signal })
  }
}
