import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 20

/**
 * Polls until `check` does not throw and answers something true, or nothing at all.
 * @template T
 * @param {() => T | Promise<T>} check
 * @param {{ deadlineMs: number, everyMs?: number }} options
 * @returns {Promise<Exclude<T, false>>} what it answered
 * @throws what it threw last
 */
export async function until (check, { deadlineMs, everyMs = POLL_MS }) {
  for (const endMs = performance.now() + deadlineMs; ;) {
    /** @type {unknown} */
    let failure
    try {
      const answer = await check()
      if (answer || answer === undefined) return /** @type {Exclude<T, false>} */ (answer)
      failure = new Error(`still not so after ${deadlineMs} ms: ${check}`)
    } catch (error) {
      failure = error
    }
    if (performance.now() > endMs) throw failure
    await pause(everyMs)
  }
}
