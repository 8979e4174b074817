/** Asking again while nobody can answer, and saying so. */
import { setTimeout as sleep } from 'node:timers/promises'

const TRY_AGAIN_MS = 250

/** @typedef {Pick<import('pino').Logger, 'info' | 'warn'>} Log */
/** @typedef {ReturnType<typeof createPatience>} Patiently */

/**
 * For all questions of one subscription: a reason is told when it is another one than before.
 * @param {{ feed: string, signal: AbortSignal, log: Log }} parts
 */
export function createPatience ({ feed, signal, log }) {
  /** @type {string | null} */
  let waitsFor = null

  /** @param {Error & { code?: string }} error */
  function tell ({ code = 'INTERNAL', message }) {
    if (code !== waitsFor) log.warn({ feed, code, reason: message }, 'a subscription waits, trying on')
    waitsFor = code
  }

  function answered () {
    if (waitsFor !== null) log.info({ feed }, 'a subscription goes on')
    waitsFor = null
  }

  /**
   * Repeats a question until it is answered.
   * @template T @param {() => Promise<T>} question
   * @returns {Promise<T | null>} null = aborted
   */
  async function patiently (question) {
    while (!signal.aborted) {
      try {
        const answer = await question()
        answered()
        return answer
      } catch (error) {
        if (!error.retryable) throw error
        tell(error)
        await sleep(TRY_AGAIN_MS, undefined, { signal }).catch(() => {})
      }
    }
    return null
  }
  return patiently
}
