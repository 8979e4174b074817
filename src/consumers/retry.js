/** Attempts with exponential back-off and full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter", 2015). */
import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_MS = 50
const LONGEST_MS = 5000

/**
 * @template T
 * @param {() => Promise<T>} run
 * @param {{ signal: AbortSignal, isLast?: (error: any) => boolean, onFailure?: (error: Error, attempt: number) => void }} options
 *   `isLast`: whether an error ends it; without it none does
 * @returns {Promise<T>} @throws the last error, or the reason of the signal
 */
export async function retry (run, { signal, isLast = () => false, onFailure = () => {} }) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      signal.throwIfAborted()
      onFailure(error, attempt)
      if (isLast(error)) throw error
    }
    await sleep(Math.random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** attempt), undefined, { signal })
  }
}
