/**
 * The layouts, behind one contract. A new layout is one file and one line here; the contract suite runs over all layouts,
 * on every server, and asserts what `describe()` guarantees.
 *
 * A layout gets a connection and a function that builds the keys of one partition; it has no clock of its own.
 *
 * @typedef {import('../item/index.js').Place} Place
 * @typedef {import('../item/index.js').VersionPlace} VersionPlace a place; with a stamp where a layout stores several versions
 *   that compare equal
 * @typedef {{ id: Buffer, ts: number, seq: number, value: Buffer }} Item
 * @typedef {Item & { stamp: number, deleted: boolean }} StoredVersion
 * @typedef {import('./arrivals.js').Arrival} Arrival
 * @typedef {{ windowMs: number, maxItems: number }} Retention 0 = no limit
 * @typedef {import('../store/index.js').Router} Connection
 * @typedef {(part: string) => string} Key
 *
 * @typedef {{ late: number, lateBytes?: number, form?: 'watched' | 'script' }} Stored `late`: versions dropped because a newer one was
 *   there; `lateBytes`: of their values, default 0; `form`: how versions were compared (ids-append.js), none where they are not
 * @typedef {{ msetex: boolean, mayWatch?: boolean, sha: (script: string) => string }} Dialect `msetex`: whether
 *   batches may use it; `mayWatch`: whether batches of a connection are sent one at a time while the layout wants that (`isAlone`)
 *
 * @typedef {object} Batch items of one partition, encoded for the wire; reusable after `reset`
 * @property {number} count
 * @property {number} bytes held
 * @property {number} maxItems
 * @property {(id: Buffer, ts: number, seq: number, value: Buffer) => void} add copies id and value
 * @property {(id: Buffer, ts: number, seq: number) => void} remove adds a tombstone, a version that is a deletion
 * @property {() => { bytes: Buffer, replies: number }} encoded what to send now; closes the batch until `reset`
 * @property {import('./arrivals.js').Arrivals} [log] of layouts with a log of arrivals: the entry of the batch
 * @property {(reply: any) => Stored} [dropped] by the last reply
 * @property {{ ids: string, deletions: string, isAbove: (score: number) => boolean, encoded: Batch['encoded'] }} [watched] where it may
 *   be sent without the script (ids-append.js). `isAbove`: whether each of its versions, in their order, is newer than that score and
 *   all before it, and none is a deletion
 * @property {() => void} reset
 *
 * @typedef {object} Guarantees
 * @property {'one' | 'many'} versions stored versions of an id
 * @property {'newest' | 'by feed'} late which version of an id counts when an older one arrives later. `by feed`: the newest,
 *   or the last write in a feed that was created with `late: overwrite`
 * @property {{ latest: 'exact' | 'newest', get: 'exact' | 'newest', count: 'exact' | 'estimate' }} withoutView what an answer
 *   is without a view. `exact`: right, at any depth. `newest`: right, or VIEW_NEEDED where a scan would need more than
 *   `maxScan` versions. `estimate`: includes superseded versions and deletions
 * @property {number} maxScan versions scanned for one query; Infinity where no scan is needed
 * @property {number} maxBatchItems
 * @property {number} maxPage items in an answer of `latest`
 * @property {'by order' | 'by arrival'} counted which versions maxItems keeps: the newest, or those that arrived last. With
 *   `by arrival` a superseded or deleted version counts again when the version that hid it, having arrived earlier, is no
 *   longer kept
 * @property {'versions' | 'entries'} trims what `trim` removes and counts: single versions, or whole log entries without any
 *   live version; expired versions in other entries stay
 * @property {Record<string, string>} encodings of its large keys on the server, by part
 *
 * @typedef {object} Layout
 * @property {string} name
 * @property {number} format version of the stored format
 * @property {() => Guarantees} describe
 * @property {import('./log.js').Log} [log] of log layouts: how entries are read
 * @property {import('./log.js').Log} [arrivals] of other layouts: the same of their log of arrivals, whose entries have no values
 * @property {(options: { key: Key, ttlMs: number, late: 'newest' | 'overwrite',
 *   dialect: Dialect, clock?: () => number, maxItems?: number,
 *   origin?: import('./log-origin.js').Origin, compress?: 'none' | 'brotli' }) => Batch} createBatch `ttlMs`: 0 = keys do not
 *   expire; `late`: for layouts that keep one version; `clock`: ms since 1970, for layouts that store the time of the append;
 *   `maxItems`: for log layouts; `compress`: for layouts whose entries are batches
 * @property {(connection: import('../store/index.js').Connection, batch: Batch) => Promise<Stored>} append
 * @property {(connection: import('../store/index.js').Connection) => boolean} [isAlone] whether the next batch must wait until all
 *   earlier ones of the connection are answered; only with the dialect `mayWatch`
 * @property {(connection: Connection, key: Key, query: { limit: number, after: Place | null, sinceMs: number | null,
 *   retention: Retention, nowMs: number, size?: import('../read-size.js').ReadSize, scan?: unknown }) =>
 *   Promise<{ items: Item[], next: Place | null, scan?: unknown }>} latest newest first; a page may have fewer than `limit` items, even
 *   none, although `next` is set. `size`: what earlier reads of the feed learnt. `scan`: returned by the previous page of the same query
 *   and partition; saves reading again, never changes the answer, and is valid for one page
 * @property {(connection: Connection, key: Key, from: { before: VersionPlace | null, minTs: number, limit: number,
 *   size: import('../read-size.js').ReadSize }) => Promise<{ versions: StoredVersion[], next: VersionPlace | null }>} [piece] where there
 *   is a log of arrivals: stored versions, newest first, from `before` on; `next`: where the next piece begins, null at the end
 * @property {(connection: Connection, key: Key, arrivals: Arrival[], size: import('../read-size.js').ReadSize) =>
 *   Promise<(StoredVersion | null)[]>} [versionsAt] where there is a log of arrivals: what is stored of each of them, null = nothing; of a
 *   layout that keeps one version of an id, that version
 * @property {(connection: Connection, key: Key, ids: Buffer[], now: { retention: Retention, nowMs: number }) =>
 *   Promise<(Item | null)[]>} get in the order of the ids
 * @property {(connection: Connection, key: Key, now: { retention: Retention, nowMs: number }) =>
 *   Promise<{ count: number, exact: boolean }>} count
 * @property {(connection: Connection, key: Key, retention: Retention) => Promise<VersionPlace | null>} [floor] where maxItems
 *   counts by order: the newest place beyond it; null = none
 * @property {(connection: Connection, key: Key, retention: Retention) => Promise<number | null>} excludedMs when the newest version that
 *   maxItems excludes was made (counted by arrival: arrived, to a 64th of maxItems), ms since 1970; null = none is stored. It may just
 *   have been trimmed
 * @property {(connection: Connection, key: Key, now: { retention: Retention, nowMs: number }) =>
 *   Promise<{ removed: number, more: boolean }>} trim removes a bounded number of expired versions or entries
 * @property {(connection: Connection, key: Key, expiry: { ttlMs: number, condition: 'GT' | 'NX' }) =>
 *   Promise<void>} extend sets a new expiry on stored items (0 = none) after a change of the window: on those that would
 *   expire earlier (GT), or that have none (NX)
 */
import { FreshetError } from '../errors.js'
import { ids } from './ids.js'
import { segments } from './segments.js'
import { stream } from './stream.js'
import { values } from './values.js'

/** @satisfies {Readonly<Record<string, Layout>>} */
const LAYOUTS = Object.freeze({ ids, values, stream, segments })

/** @typedef {keyof typeof LAYOUTS} LayoutName */

/** @returns {LayoutName[]} */
export const layoutNames = () => /** @type {LayoutName[]} */ (Object.keys(LAYOUTS))

/**
 * @param {string} name
 * @returns {Layout}
 * @throws {FreshetError} FEED_LAYOUT_UNKNOWN
 */
export function layoutOf (name) {
  if (Object.hasOwn(LAYOUTS, name)) return LAYOUTS[/** @type {LayoutName} */ (name)]
  throw new FreshetError('FEED_LAYOUT_UNKNOWN', `unknown layout ${name}; expected ${layoutNames().join(' | ')}`)
}

/**
 * @typedef {import('./log-origin.js').Origin} Origin
 * @typedef {import('./log.js').Log} Log
 * @typedef {import('./log.js').LogEntry} LogEntry
 * @typedef {import('../read-size.js').ReadSize} ReadSize
 */
export { keptMs, KEPT_BYTES } from './arrivals.js'
export { createOrigin } from './log-origin.js'
export { BEFORE_FIRST, compareEntryIds, entriesAfter, entriesBefore, entriesBehind, hasEntry, newestEntryId, nextEntryId } from './log.js'
export { createReadSize, MAX_READ } from '../read-size.js'
export { argument, bulk, command, createScoreText, wholeCommand, Wire } from './wire.js'

/** How a feed of a layout is followed: by its log, or by its log of arrivals. @param {Layout} layout @returns {import('./log.js').Log} */
export const logOf = ({ log, arrivals }) => /** @type {import('./log.js').Log} */ (log ?? arrivals)
