/**
 * What time it is on a server, or a little earlier, but never later: it is asked, and what passed since its answer came is
 * added. What the answer took is what the estimate is behind by.
 */

/** a server that is so far behind what was expected has had its clock set */
const STEP_MS = 1000
/** clocks of two machines drift apart by less between two looks */
const DRIFT_MS = 1

/** @param {() => number} [elapsed] ms, never set back */
export function createServerClock (elapsed = () => performance.now()) {
  let offset = -Infinity

  return {
    /**
     * @param {import('../store/connection.js').Connection} connection
     * @param {{ isAnother?: boolean, isStill?: () => boolean }} [server] `isAnother`: it may be another one than before;
     *   `isStill`: whether it is the one whose clock this is, asked when it has answered
     */
    async look (connection, { isAnother = false, isStill = () => true } = {}) {
      const [seconds, micros] = await connection.send('TIME')
      if (!isStill()) return
      const seen = Number(seconds) * 1000 + Number(micros) / 1000 - elapsed()
      // an answer that took long says less than an earlier one of the same clock
      offset = isAnother || seen < offset - STEP_MS ? seen : Math.max(seen, offset - DRIFT_MS)
    },

    /** @returns {number} ms since 1970; -Infinity while none was asked */
    now: () => Math.floor(elapsed() + offset)
  }
}
