/** What a view knows of one partition's log: the newest entry that it read, and whether the log still has it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { BEFORE_FIRST, compareEntryIds, entriesBefore, newestEntryId, nextEntryId } from '../layouts/index.js'
import { historyBefore } from './log-history.js'
import { createOrigins } from './origins.js'

/** how long a node that is behind the view may take to catch up */
const CATCH_UP_MS = 1000
const CATCH_UP_LOOK_MS = 20

/** @typedef {import('../layouts/index.js').Log} Log */
/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {import('./view.js').Store} Store */
/**
 * @typedef {{ name: string, aheadName: string, store: Store, entryId: string | null, origin: string, taken: string, arrival: number,
 *   origins: ReturnType<typeof createOrigins>, history: import('./log-history.js').History | import('./set-history.js').SetHistory | null,
 *   floor: import('../item/index.js').VersionKey | null, touched: Set<Set<string>>, isWhole: boolean, decided: string | null }} Part
 *   `entryId`, `origin`: of the newest entry read, null before the first session; `taken`: of the newest in the store; `decided`: of the
 *   newest before those of which something is still to come, null = nothing is; of a log of
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
  isWhole,
  decided: null
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
    decided: null,
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
