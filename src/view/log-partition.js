/** What a view knows of one partition's log: the newest entry that it read, and whether the log still has it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { BEFORE_FIRST, compareEntryIds, entriesBefore, newestEntryId, nextEntryId } from '../layouts/index.js'
import { createOrigins } from './origins.js'

/**
 * Reads the log of a partition backwards, in pieces that leave the event loop free, until nothing older can be live: the entries
 * before one that arrived at `ms` hold only items of `ms` + `ahead` and older (layouts/log-origin.js).
 */

/** @typedef {ReturnType<typeof import('./origins.js').createOrigins>} Origins */
/**
 * @typedef {{ before: string, asked: string, arrival: number, origins: Origins, aheadMs: number | null }} History
 *   `before`: id of the oldest entry stored; `asked`: of the oldest one read in this session; `arrival`: of the next older
 *   version; `aheadMs` null = not read yet
 */
/** @typedef {{ history: History, entries: LogEntry[], isEnd: boolean } | null} Piece null = nothing is missing */

/** @param {string} before @param {number} arrival @param {Origins} origins @returns {History} */
const historyBefore = (before, arrival, origins) => ({ before, asked: before, arrival, origins, aheadMs: null })

/**
 * @param {{ part: Part, size: ReturnType<typeof import('./log-newer.js').createReplySize>,
 *   intake: ReturnType<typeof import('./log-newer.js').createLogIntake>, retention: () => import('../layouts/index.js').Retention,
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

/** how long a node that is behind the view may take to catch up */
const CATCH_UP_MS = 1000
const CATCH_UP_LOOK_MS = 20

/** @typedef {import('../layouts/index.js').Log} Log */
/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('./view.js').Store} Store */
/**
 * @typedef {{ name: string, aheadName: string, store: Store, entryId: string | null, origin: string, taken: string, arrival: number,
 *   origins: ReturnType<typeof createOrigins>, history: History | import('./arrivals-newer.js').SetHistory | null,
 *   floor: import('../item/index.js').VersionPlace | null, touched: Set<Set<string>>, isWhole: boolean }} Part
 *   `entryId`, `origin`: of the newest entry read, null before the first session; `taken`: of the newest in the store; of a log of
 *   arrivals: `floor`: what maxItems excludes; `touched`: for each piece of history that is being read, ids that were put meanwhile;
 *   `isWhole`: the store gets what was there before, too
 */

/** @param {Log} log @param {(part: string) => string} key @param {Store} store @param {boolean} [isWhole] @returns {Part} */
export const newPart = (log, key, store, isWhole = true) => ({
  name: key(log.part),
  aheadName: key('ahead'),
  store,
  entryId: null,
  origin: '',
  taken: BEFORE_FIRST,
  arrival: 0,
  origins: createOrigins(),
  history: null,
  floor: null,
  touched: new Set(),
  isWhole
})

/** Starts at the newest entry of the log, with all others as history. @param {Connection} connection @param {Log} log @param {Part} part */
export async function startPart (connection, log, part) {
  const [newest] = await entriesBefore(connection, part.name, { before: null, count: 1 })
  const entryId = newest?.entryId ?? BEFORE_FIRST
  const origins = createOrigins()
  Object.assign(part, {
    entryId,
    origin: newest ? originOf(log, newest) : '',
    taken: entryId,
    arrival: 0,
    origins,
    floor: null,
    // items may be stored that the log of arrivals no longer has
    history: !part.isWhole
      ? null
      : log.isIndex
        ? { before: null, asked: null, isAsked: false }
        : entryId === BEFORE_FIRST ? null : historyBefore(nextEntryId(entryId), 0, origins)
  })
  part.touched.clear()
}

/** Tells an entry from one of another log with the same id. @param {Log} log @param {LogEntry} entry */
export function originOf (log, { bytes }) {
  try {
    return log.head(bytes).origin
  } catch {
    return ''
  }
}

/** Whether the log has the newest entry that was read. @param {Connection} connection @param {Log} log @param {Part} part */
export async function hasNewestRead (connection, log, { name, entryId, origin }) {
  if (entryId === null || entryId === BEFORE_FIRST) return true
  const [entry] = await entriesBefore(connection, name, { before: nextEntryId(entryId), count: 1 })
  return entry?.entryId === entryId && originOf(log, entry) === origin
}

/**
 * After `hasNewestRead` was false: the node is behind the view, the entry was trimmed, or this is another log. Waits for a node
 * that is behind, and otherwise starts the partition again.
 * @param {Connection} connection @param {Log} log @param {Part} part its store is settled
 * @returns {Promise<boolean>} whether it was started again, and may have lost something
 */
export async function recoverPart (connection, log, part) {
  const { items, tombstones } = part.store.stats()
  const wasEmpty = items + tombstones === 0
  for (const untilMs = performance.now() + CATCH_UP_MS; performance.now() < untilMs; await sleep(CATCH_UP_LOOK_MS)) {
    const newest = await newestEntryId(connection, part.name)
    if (compareEntryIds(newest, /** @type {string} */ (part.entryId)) >= 0 || (newest === BEFORE_FIRST && wasEmpty)) break
  }
  if (await hasNewestRead(connection, log, part)) return false
  part.store.clear()
  part.entryId = null
  await startPart(connection, log, part)
  return !wasEmpty || part.history !== null
}
