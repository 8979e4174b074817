import { setTimeout as pause } from 'node:timers/promises'

const POLL_MS = 20

/**
 * Polls until `check` does not throw and answers something true, or nothing at all. The longer it has taken, the longer are the pauses,
 * up to `mostMs`: a twentieth of that time.
 * @template T
 * @param {() => T | Promise<T>} check
 * @param {{ deadlineMs: number, everyMs?: number, mostMs?: number }} options
 * @returns {Promise<Exclude<T, false>>} what it answered
 * @throws what it threw last
 */
export async function until (check, { deadlineMs, everyMs = POLL_MS, mostMs = everyMs }) {
  for (const startMs = performance.now(); ;) {
    /** @type {unknown} */
    let failure
    try {
      const answer = await check()
      if (answer || answer === undefined) return /** @type {Exclude<T, false>} */ (answer)
      failure = new Error(`still not so after ${deadlineMs} ms: ${check}`)
    } catch (error) {
      failure = error
    }
    const tookMs = performance.now() - startMs
    if (tookMs > deadlineMs) throw failure
    await pause(Math.max(everyMs, Math.min(mostMs, tookMs / 20)))
  }
}
