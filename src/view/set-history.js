/**
 * Reads what a partition of layout `ids` or `values` has stored, once, newest first, in pieces that leave the event loop free. What arrives
 * meanwhile comes by the log of arrivals, and counts: a piece does not replace what was put after it was asked for.
 *
 * @typedef {import('../item/index.js').VersionPlace} VersionPlace
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('../layouts/index.js').StoredVersion} StoredVersion
 * @typedef {{ before: VersionPlace | null, asked: VersionPlace | null, isAsked: boolean }} SetHistory `before`: all from there on is
 *   in the store, null = nothing; `asked`: the same of what was asked for; `isAsked`: everything was
 * @typedef {{ history: SetHistory, versions: StoredVersion[], next: VersionPlace | null, touched: Set<string> } | null} Piece `touched`:
 *   ids that were put since it was asked for, as latin1
 */
import { compareOrder } from '../item/index.js'
import { createReadSize, MAX_READ } from '../layouts/index.js'

/** @param {VersionPlace | null} before @returns {SetHistory} */
const historyFrom = (before) => ({ before, asked: before, isAsked: false })

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, part: import('./log-partition.js').Part,
 *   put: import('./arrivals-newer.js').Put, intake: ReturnType<typeof import('./log-intake.js').createLogIntake>,
 *   retention: () => import('../layouts/index.js').Retention, now: () => number }} of
 */
export function createSetHistory ({ layout, key, part, put, intake, retention, now }) {
  const piece = /** @type {NonNullable<typeof layout.piece>} */ (layout.piece)
  const size = createReadSize()
  const windowStart = () => retention().windowMs > 0 ? Math.max(0, now() - retention().windowMs) : 0
  const current = () => /** @type {SetHistory | null} */ (part.history)

  /** Whether nothing before a place is wanted. @param {VersionPlace} place */
  function isBeyond (place) {
    const { floor } = part.store.stats()
    if (place.ts < windowStart() || (floor !== null && place.ts < floor.ts)) return true
    return part.floor !== null && compareOrder(place, part.floor) <= 0
  }

  return {
    get isWanted () { return part.history !== null },

    get heldMs () { return current()?.before?.ts },

    begin () { part.history = historyFrom(null) },

    /** Reads again what is stored before a place. @param {VersionPlace | null} before */
    refill (before) { part.history = historyFrom(part.history === null ? before : null) },

    rewind () {
      part.touched.clear()
      const history = current()
      if (history !== null) Object.assign(history, { asked: history.before, isAsked: false })
    },

    /** @param {Connection} connection @returns {Promise<Piece>} */
    async read (connection) {
      const history = current()
      if (history === null || history.isAsked) return null
      /** @type {Set<string>} */
      const touched = new Set()
      part.touched.add(touched)
      const question = { before: history.asked, minTs: windowStart(), limit: MAX_READ, size }
      const { versions, next } = await piece(connection, key, question).catch((error) => {
        if (error.code === 'SERVER_LOST') size.lost(MAX_READ)
        throw error
      })
      Object.assign(history, { asked: next, isAsked: next === null })
      return { history, versions, next, touched }
    },

    /** @param {Piece} piece */
    async take (piece) {
      if (piece === null) return
      const { history, versions, next, touched } = piece
      for (const version of versions) {
        // a changed retention may have started it again
        if (history !== part.history) break
        if (!touched.has(version.id.toString('latin1'))) put(version.id, version)
        if (intake.isOver(1)) await intake.yieldLoop()
      }
      part.touched.delete(touched)
      if (history !== part.history) return
      history.before = next
      if (next === null || isBeyond(next)) part.history = null
    }
  }
}
