/**
 * Tracks on which stripes no replica confirms, and logs when that begins and ends.
 */

const LOG_AGAIN_MS = 10_000

/** @param {import('pino').Logger} log */
export function createConfirmation (log) {
  /** @type {Set<number>} */
  const missing = new Set()
  let loggedMs = -Infinity
  let isLogged = false
  return {
    get isMissing () { return missing.size > 0 },
    /** @param {number} stripe @param {import('./account.js').Account} account */
    missing (stripe, account) {
      account.unconfirmed++
      missing.add(stripe)
      if (performance.now() - loggedMs < LOG_AGAIN_MS) return
      loggedMs = performance.now()
      isLogged = true
      log.warn('no replica confirms writes: items stay unacknowledged until one does')
    },
    /** @param {number} stripe */
    received (stripe) {
      if (!missing.delete(stripe) || missing.size > 0 || !isLogged) return
      isLogged = false
      log.info('replicas confirm writes again')
    }
  }
}
