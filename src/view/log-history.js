/**
 * Reads the logs of a feed backwards, in pieces that leave the event loop free, until nothing older can be live: the entries
 * before one that arrived at `ms` hold only items of `ms` + `ahead` and older (layouts/log-origin.js).
 */
import { entriesBefore } from '../layouts/index.js'

/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {import('./log-partition.js').Part} Part */
/** @typedef {ReturnType<typeof import('./origins.js').createOrigins>} Origins */
/**
 * @typedef {{ before: string, asked: string, arrival: number, origins: Origins, aheadMs: number | null }} History
 *   `before`: id of the oldest entry stored; `asked`: of the oldest one read in this session; `arrival`: of the next older
 *   version; `aheadMs` null = not read yet
 */
/** @typedef {{ history: History, entries: LogEntry[], isEnd: boolean }} Piece of a partition */

/** @param {string} before @param {number} arrival @param {Origins} origins @returns {History} */
export const historyBefore = (before, arrival, origins) => ({ before, asked: before, arrival, origins, aheadMs: null })

/**
 * @param {{ parts: Part[], size: ReturnType<typeof import('./log-reply-size.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-intake.js').createLogIntake>, retention: () => import('../layouts/index.js').Retention,
 *   now: () => number }} of
 */
export function createLogHistory ({ parts, size, intake, retention, now }) {
  /** Whether nothing before an entry can be live. @param {Part} part @param {History} history @param {LogEntry} entry */
  function isBeyond ({ store, arrival }, history, { ms }) {
    const { windowMs, maxItems } = retention()
    const newestTs = ms + /** @type {number} */ (history.aheadMs)
    const { floor } = store.stats()
    return (windowMs > 0 && newestTs < now() - windowMs) ||
      (maxItems > 0 && history.arrival <= arrival - maxItems) ||
      (floor !== null && newestTs < floor.ts)
  }

  return {
    /** Whether some of it is missing. */
    get isWanted () { return parts.some(({ history }) => history !== null) },

    /** Continues behind what is stored: pieces that were read but not taken are read again. */
    rewind () {
      for (const { history } of parts) if (history) history.asked = history.before
    },

    /** The next piece of each partition. @param {Connection} connection @returns {Promise<Piece[]>} */
    async read (connection) {
      const count = size.entries()
      return Promise.all(parts.map(async (part) => {
        const { history } = part
        if (history === null) return []
        if (history.aheadMs === null) {
          const [, score = 0] = await connection.send('ZREVRANGE', part.aheadName, 0, 0, 'WITHSCORES')
          history.aheadMs = Math.max(0, Number(score))
        }
        const entries = await entriesBefore(connection, part.name, { before: history.asked, count })
        history.asked = entries.at(-1)?.entryId ?? history.asked
        return { history, entries, isEnd: entries.length < count }
      })).then((found) => found.flat())
    },

    /** @param {Piece[]} pieces */
    async take (pieces) {
      for (const { history, entries, isEnd } of pieces) {
        const part = parts.find((one) => one.history === history)
        if (!part) continue
        for (const entry of entries) {
          const count = intake.take(part.store, entry, history.origins, (count) => history.arrival - count + 1)
          history.arrival -= count
          history.before = entry.entryId
          if (intake.isOver(count)) await intake.yieldLoop()
        }
        size.learn(entries)
        const last = entries.at(-1)
        // a changed retention may have started it again
        if (part.history === history && (isEnd || !last || isBeyond(part, history, last))) part.history = null
      }
    }
  }
}
