/**
 * Open-loop pacing: the due time of each item follows from the start and the rate alone, never from how fast the server
 * answers. Missed items stay due; only their number is kept, so a backlog costs no memory.
 *
 * - steady: item k is due k / rate after the start.
 * - burst: each period has `chunks` bursts; all items of a burst are due at its beginning.
 * - rate 0: items are always due.
 */

/**
 * @param {{ ratePerSecond: number, pace: 'steady' | 'burst', periodMs: number, chunks: number, startMs: number }} options
 *   `startMs`: on the clock of all `nowMs` below
 */
export function createPacer ({ ratePerSecond, pace, periodMs, chunks, startMs }) {
  const burstMs = periodMs / chunks
  const perBurst = ratePerSecond * burstMs / 1000
  let taken = 0

  /** @param {number} nowMs */
  function dueSoFar (nowMs) {
    if (ratePerSecond === 0) return Infinity
    const passedMs = nowMs - startMs
    if (passedMs < 0) return 0
    if (pace === 'steady') return Math.floor(passedMs * ratePerSecond / 1000)
    return Math.round(Math.ceil(passedMs / burstMs) * perBurst)
  }

  /** When item k, from 0, is due. @param {number} k */
  function dueMsOf (k) {
    if (pace === 'steady') return startMs + (k + 1) * 1000 / ratePerSecond
    // inverse of the rounding in dueSoFar: the first burst whose total exceeds k
    return startMs + (Math.max(1, Math.ceil((k + 0.5) / perBurst)) - 1) * burstMs
  }

  return {
    /** Items due and not yet taken. @param {number} nowMs @returns {number} */
    due: (nowMs) => dueSoFar(nowMs) - taken,

    /** Takes the next item. @param {number} nowMs @returns {number} when it was due */
    take (nowMs) {
      return ratePerSecond === 0 ? nowMs : dueMsOf(taken++)
    },

    /** Skips all due items. @param {number} nowMs @returns {number} how many */
    skip (nowMs) {
      if (ratePerSecond === 0) return 0
      const skipped = Math.max(0, dueSoFar(nowMs) - taken)
      taken += skipped
      return skipped
    },

    /** Time until the next item is due, ms. @param {number} nowMs */
    waitMs: (nowMs) => ratePerSecond === 0 ? 0 : Math.max(0, dueMsOf(taken) - nowMs)
  }
}
