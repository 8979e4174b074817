/**
 * Whether what the replicas have is still what the primary has. A replica that is cut off from the primary together with its reader
 * answers as ever. So the primary is confirmed: by our own link to it, or by a replica that hears from it. After a second without
 * either, answers are as old as the last contact.
 */
import { readInfo } from './nodes.js'

const CONFIRMED_FOR_MS = 1000
/** an idle primary sends something to its replicas every 10 s */
const MAX_SILENCE_S = 12

/** @typedef {ReturnType<typeof createPrimaryContact>} PrimaryContact */

/** @param {Pick<import('pino').Logger, 'warn'>} log */
export function createPrimaryContact (log) {
  let ownMs = -Infinity
  /** when the rule above was last met; at the start it has not been broken yet */
  let confirmedMs = performance.now()
  /** the newest time at which a node had what the primary had; null = not known */
  let contactMs = /** @type {number | null} */ (null)
  let isConfirmed = true
  const startedMs = performance.now()

  return {
    /** Our own link works, so that replicas need not be asked. */
    get isDirect () { return performance.now() - ownMs < CONFIRMED_FOR_MS / 2 },
    /** How long ago the last contact was, ms; 0 = the primary is confirmed. */
    get unconfirmedMs () { return isConfirmed ? 0 : performance.now() - (contactMs ?? startedMs) },

    /** The primary answered. @param {number} askedMs */
    answered (askedMs) { ownMs = confirmedMs = contactMs = askedMs },

    /**
     * Asks a replica when it last heard from its primary.
     * @param {import('./connection.js').Connection} connection
     * @returns {Promise<boolean>} whether that confirms the primary
     */
    async ask (connection) {
      const askedMs = performance.now()
      const info = readInfo(await connection.send('INFO', 'replication'), connection.address)
      const isUp = info.master_link_status === 'up'
      const silentS = Number(isUp ? info.master_last_io_seconds_ago : info.master_link_down_since_seconds)
      if (!(silentS >= 0)) return false
      contactMs = Math.max(contactMs ?? -Infinity, askedMs - 1000 * silentS)
      if (!isUp || silentS > MAX_SILENCE_S) return false
      confirmedMs = Math.max(confirmedMs, askedMs)
      return true
    },

    /** To be called after each round of questions: a busy process reads the replies first. */
    judge () {
      const wasConfirmed = isConfirmed
      isConfirmed = performance.now() - confirmedMs <= CONFIRMED_FOR_MS
      if (wasConfirmed && !isConfirmed) log.warn('the primary cannot be confirmed: answers are as old as the last contact with it')
      if (!wasConfirmed && isConfirmed) log.warn('the primary is confirmed again')
    }
  }
}
