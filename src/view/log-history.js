/**
 * Reads the log of a partition backwards, in pieces that leave the event loop free, until nothing older can be live: the entries
 * before one that arrived at `ms` hold only items of `ms` + `ahead` and older (layouts/log-origin.js).
 */
import { BEFORE_FIRST, entriesBefore, nextEntryId } from '../layouts/index.js'
import { createOrigins } from './origins.js'

/** @typedef {ReturnType<typeof import('./origins.js').createOrigins>} Origins */
/**
 * @typedef {{ before: string, asked: string, arrival: number, origins: Origins, aheadMs: number | null }} History
 *   `before`: id of the oldest entry stored; `asked`: of the oldest one read in this session; `arrival`: of the next older
 *   version; `aheadMs` null = not read yet
 */
/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('./log-partition.js').Part} Part */
/** @typedef {{ history: History, entries: LogEntry[], isEnd: boolean } | null} Piece null = nothing is missing */

/** @param {string} before exclusive @param {number} arrival @param {Origins} origins @returns {History} */
export const historyBefore = (before, arrival, origins) => ({ before, asked: before, arrival, origins, aheadMs: null })

/**
 * @param {{ part: Part, size: ReturnType<typeof import('./reply-size.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-intake.js').createLogIntake>, retention: () => import('../layouts/index.js').Retention,
 *   now: () => number }} of
 */
export function createLogHistory ({ part, size, intake, retention, now }) {
  /** Whether nothing before an entry can be live. @param {Part} part @param {History} history @param {LogEntry} entry */
  function isBeyond ({ store, arrival }, history, { ms }) {
    const { windowMs, maxItems } = retention()
    const newestTs = ms + /** @type {number} */ (history.aheadMs)
    const { floor } = store.stats()
    return (windowMs > 0 && newestTs < now() - windowMs) ||
      (maxItems > 0 && history.arrival <= arrival - maxItems) ||
      (floor !== null && newestTs < floor.ts)
  }

  const current = () => /** @type {History | null} */ (part.history)

  return {
    /** Whether some of it is missing. */
    get isWanted () { return part.history !== null },

    /** Older entries have nothing newer. @returns {number | undefined} */
    get heldMs () {
      const { before = '', aheadMs = null } = current() ?? {}
      return aheadMs === null ? undefined : Number.parseInt(before) + aheadMs
    },

    /** Removed items may be live again. */
    begin () { if (part.taken !== BEFORE_FIRST) part.history = historyBefore(nextEntryId(part.taken), part.arrival, createOrigins()) },

    /** Continues behind what is stored: a piece that was read but not taken is read again. */
    rewind () {
      const history = current()
      if (history) history.asked = history.before
    },

    /** @param {Connection} connection @returns {Promise<Piece>} the next one */
    async read (connection) {
      const history = current()
      if (history === null) return null
      const count = size.entries()
      if (history.aheadMs === null) {
        const [, score = 0] = await connection.send('ZREVRANGE', part.aheadName, 0, 0, 'WITHSCORES')
        history.aheadMs = Math.max(0, Number(score))
      }
      const entries = await entriesBefore(connection, part.name, { before: history.asked, count })
      history.asked = entries.at(-1)?.entryId ?? history.asked
      return { history, entries, isEnd: entries.length < count }
    },

    /** @param {Piece} piece */
    async take (piece) {
      // a changed retention may have started it again
      if (piece === null || piece.history !== part.history) return
      const { history, entries, isEnd } = piece
      for (const entry of entries) {
        const count = intake.take(part.store, entry, history.origins, (count) => history.arrival - count + 1)
        history.arrival -= count
        history.before = entry.entryId
        if (intake.isOver(count)) await intake.yieldLoop()
      }
      size.learn(entries)
      const last = entries.at(-1)
      if (part.history === history && (isEnd || !last || isBeyond(part, history, last))) part.history = null
    }
  }
}
