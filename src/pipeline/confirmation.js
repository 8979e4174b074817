/**
 * Tracks on which stripes too few replicas confirm, and logs when that begins and ends.
 */

const LOG_AGAIN_MS = 10_000

/** @param {number} needed replicas */
export const unconfirmedBy = (needed) => needed > 1 ? `fewer than ${needed} replicas confirm writes` : 'no replica confirms writes'

/** @param {import('pino').Logger} log @param {number} needed replicas */
export function createConfirmation (log, needed) {
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
      log.warn(`${unconfirmedBy(needed)}: items stay unacknowledged until ${needed > 1 ? 'they do' : 'one does'}`)
    },
    /** @param {number} stripe */
    received (stripe) {
      if (!missing.delete(stripe) || missing.size > 0 || !isLogged) return
      isLogged = false
      log.info('replicas confirm writes again')
    }
  }
}
