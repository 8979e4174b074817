/** When a process that ended may start again: after 0.5, 1, 2, 4 and 8 s, and at most five times in a minute. */

const FIRST_WAIT_MS = 500
export const MOST = 5
const MINUTE_MS = 60_000

/**
 * @param {() => number} [now] ms
 * @returns {() => number | null} called when it ended: how long to wait, in ms; null = it has ended too often
 */
export function createBackOff (now = performance.now.bind(performance)) {
  /** @type {number[]} */
  let recent = []
  return () => {
    recent = recent.filter((at) => now() - at < MINUTE_MS)
    if (recent.length === MOST) return null
    recent.push(now())
    return FIRST_WAIT_MS * 2 ** (recent.length - 1)
  }
}
