/**
 * Estimates the time of a server, never ahead of it: TIME of the server plus the time since its reply arrived. The estimate
 * lags by the transit time of the reply.
 */

/** a larger step back means that the clock of the server was set */
const STEP_MS = 1000
/** maximum drift of two machines between two syncs */
const DRIFT_MS = 1

/** @param {() => number} [elapsed] ms, monotonic */
export function createServerClock (elapsed = () => performance.now()) {
  let offset = -Infinity

  return {
    /**
     * @param {import('../store/index.js').Connection} connection
     * @param {{ isAnother?: boolean, isStill?: () => boolean }} [server] `isAnother`: the server may have changed;
     *   `isStill`: checked after the reply, false = the reply is of another server and does not count
     */
    async sync (connection, { isAnother = false, isStill = () => true } = {}) {
      const [seconds, micros] = await connection.send('TIME')
      if (!isStill()) return
      const seen = Number(seconds) * 1000 + Number(micros) / 1000 - elapsed()
      // a slow reply gives a worse estimate than an earlier fast one
      offset = isAnother || seen < offset - STEP_MS ? seen : Math.max(seen, offset - DRIFT_MS)
    },

    /** @returns {number} ms since 1970; -Infinity before the first sync */
    now: () => Math.floor(elapsed() + offset)
  }
}
