/** Repeats a query while servers are unavailable, and logs why. */
import { setTimeout as sleep } from 'node:timers/promises'

const RETRY_MS = 250

/** @typedef {Pick<import('pino').Logger, 'info' | 'warn'>} Log */
/** @typedef {ReturnType<typeof createRetry>} Retry */

/**
 * For all queries of one subscription. A reason is logged when it differs from the one before.
 * @param {{ feed: string, signal: AbortSignal, log: Log }} parts
 */
export function createRetry ({ feed, signal, log }) {
  /** @type {string | null} */
  let lastCode = null

  /**
   * @template T @param {() => Promise<T>} query
   * @returns {Promise<T | null>} null = aborted
   */
  async function retry (query) {
    while (!signal.aborted) {
      try {
        const reply = await query()
        if (lastCode !== null) log.info({ feed }, 'subscription resumes')
        lastCode = null
        return reply
      } catch (error) {
        if (!error.retryable) throw error
        const { code = 'INTERNAL', message } = error
        if (code !== lastCode) log.warn({ feed, code, reason: message }, 'subscription waits for a server, retrying')
        lastCode = code
        await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
      }
    }
    return null
  }

  return retry
}
