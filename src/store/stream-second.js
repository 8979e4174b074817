/** The second connection of a line (stream-line.js): it is opened when it is used, and closed when it is not. */

/** @typedef {import('./connection.js').Word} Word */

/** More than the second in which rows are read (src/consumers/effects.js). */
const IDLE_MS = 5000

/** @param {() => Promise<import('./stream-line.js').Opened>} open */
export function createSecondLane (open) {
  /** @type {ReturnType<typeof open> | null} */
  let opening = null
  /** @type {NodeJS.Timeout | undefined} */
  let idle
  let inUse = 0

  function close () {
    clearTimeout(idle)
    opening?.then(({ end }) => end(null), () => {})
    opening = null
  }

  return {
    /** @param {string} command @param {Word[]} words @returns {Promise<any>} */
    async send (command, ...words) {
      clearTimeout(idle)
      inUse++
      const mine = opening ??= open()
      try {
        return await (await mine).connection.send(command, ...words)
      } catch (error) {
        // an error reply leaves the connection as it is
        if (opening === mine && (error.outcome === undefined || error.outcome === 'over')) close()
        throw error
      } finally {
        if (--inUse === 0 && opening !== null) idle = setTimeout(close, IDLE_MS).unref()
      }
    },
    close
  }
}
