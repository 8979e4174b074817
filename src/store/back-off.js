/** One session after the other, with waits in between. */
import { setTimeout as sleep } from 'node:timers/promises'

/** The longest wait, unless the server refused. */
export const LONGEST_WAIT_MS = 1000
/** after SERVER_REFUSED and SERVER_UNTRUSTED */
const REFUSED_WAIT_MS = 1000

/** @typedef {'used' | 'unused' | 'refused'} SessionOutcome whether a session was of use, or the server refused it */

/**
 * Runs sessions until `signal`. The wait between them doubles up to a second, with jitter, so that many processes do not
 * reconnect at the same instant. It starts over after a session that was of use. After a refusal it is a second or more.
 * @param {() => Promise<SessionOutcome>} session
 * @param {{ firstWaitMs: number, signal: AbortSignal, wait?: (ms: number) => Promise<unknown> }} options `wait` may end sooner
 */
export async function runSessions (session, { firstWaitMs, signal, wait = (ms) => sleep(ms, undefined, { signal }).catch(() => {}) }) {
  let waitMs = firstWaitMs
  while (!signal.aborted) {
    const outcome = await session()
    if (outcome === 'used') waitMs = firstWaitMs
    const jitteredMs = outcome === 'refused' ? REFUSED_WAIT_MS * (1 + Math.random() / 4) : waitMs * (0.5 + Math.random() / 2)
    await wait(jitteredMs)
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
  }
}
