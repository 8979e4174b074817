/**
 * The layouts, behind one contract. Adding one is one file and one line here; the contract suite runs over all of
 * them, on every server, and asserts what `describe()` promises.
 *
 * A layout is handed a connection and a function that makes the keys of one partition; it knows no clock.
 *
 * @typedef {import('../item/order.js').Place} Place
 * @typedef {import('../item/member.js').VersionPlace} VersionPlace a place; with a stamp where versions that compare equal
 *   are told apart
 * @typedef {{ id: Buffer, ts: number, seq: number, value: Buffer }} Item
 * @typedef {{ windowMs: number, maxItems: number }} Retention 0 = no limit
 * @typedef {import('../store/connection.js').Connection} Connection
 * @typedef {(part: string) => string} Key
 *
 * @typedef {object} Batch items of one partition, spelt as they travel; reusable after `reset`
 * @property {number} count
 * @property {number} bytes held
 * @property {number} maxItems that it takes
 * @property {(id: Buffer, ts: number, seq: number, value: Buffer) => void} add copies id and value
 * @property {(id: Buffer, ts: number, seq: number) => void} remove adds a tombstone: a version that is a deletion
 * @property {() => { bytes: Buffer, replies: number }} encoded closes the batch until `reset`
 * @property {() => void} reset
 *
 * @typedef {object} Promises
 * @property {'one' | 'many'} versions how many of an id are stored
 * @property {'last write' | 'newest'} late which version of an id counts when an older one arrives later. `last write`
 *   becomes `newest` where the writer has `late: drop`
 * @property {boolean} deletionsInTail whether `tail` shows deletions; else an id that is deleted only stops coming
 * @property {boolean} equalInTail whether `tail` shows, beside a version, another of the same id, ts and seq
 * @property {{ latest: 'exact' | 'newest', get: 'exact' | 'newest', count: 'exact' | 'estimate' }} askedPerRequest what an
 *   answer is without a view. `exact`: right, however deep. `newest`: right, or VIEW_NEEDED where more than `maxWalk`
 *   versions would have to be looked at. `estimate`: live versions, superseded ones and deletions among them
 * @property {number} maxWalk versions looked at for one question; Infinity where the answer does not depend on it
 * @property {number} maxBatchItems
 * @property {number} maxPage items in an answer of `latest`
 * @property {'time' | 'log'} tail what is followed: `log` = arrival, without a gap, by `layout.log`; `time` = event time, by
 *   the method `tail`, which all layouts have
 * @property {'by order' | 'by arrival'} counted which versions maxItems keeps: the newest, or those that arrived last. So
 *   `by arrival` a version that was superseded or deleted, and arrived after what hid it, counts again when that is not among
 *   them any more
 * @property {'versions' | 'entries'} trims what `trim` removes and counts: single versions, or entries of a log whole, of
 *   which then nothing was live; something that is not live may stay beside what is
 * @property {Record<string, string>} encodings of its keys on the server once they are large, by part
 *
 * @typedef {object} Layout
 * @property {string} name
 * @property {number} format version of what is stored
 * @property {() => Promises} describe
 * @property {import('./log.js').Log} [log] of layouts that keep a log: how its entries are read
 * @property {(options: { key: Key, ttlMs: number, late: 'overwrite' | 'drop',
 *   dialect: { msetex: boolean, sha: (script: string) => string }, clock?: () => number, maxItems?: number,
 *   origin?: import('./log-origin.js').Origin, compress?: 'none' | 'brotli' }) => Batch} createBatch `ttlMs` 0 = keys do not expire; `late` where only one
 *   version is kept; `clock`: ms since 1970, for layouts that store when a version was appended; `maxItems`: of the feed,
 *   and `origin`: who writes, for layouts that keep a log; `compress`: for those whose entries are batches
 * @property {(connection: Connection, batch: Batch) => Promise<{ late: number }>} append `late`: older versions dropped
 * @property {(connection: Connection, key: Key, question: { limit: number, after: Place | null, sinceMs: number | null,
 *   retention: Retention, nowMs: number, walk?: unknown }) => Promise<{ items: Item[], next: Place | null, walk?: unknown }>}
 *   latest newest first; may hold fewer than `limit` items although `next` says that there are more, and then nothing may
 *   follow. `walk`: what the page before gave, of the same question to the same partition; it spares a layout that must
 *   know what it has seen from reading again, and never changes the answer. Good for one page
 * @property {(connection: Connection, key: Key, question: { after: VersionPlace | null, sinceMs: number, limit: number,
 *   known: (version: VersionPlace) => boolean, retention: Retention, nowMs: number, size?: import('./pieces.js').PieceSize }) =>
 *   Promise<{ items: (Item & VersionPlace & { deleted: boolean })[], next: VersionPlace | null }>} tail live versions of `sinceMs` and newer
 *   that `known` does not name, oldest first, strictly newer than `after`. At most `limit` (<= 1,000) members are looked
 *   at; `next`: where to go on, null at the end; `size`: of pieces, as pages before taught it
 * @property {(connection: Connection, key: Key, ids: Buffer[], now: { retention: Retention, nowMs: number }) =>
 *   Promise<(Item | null)[]>} get in the order of the ids
 * @property {(connection: Connection, key: Key, now: { retention: Retention, nowMs: number }) =>
 *   Promise<{ count: number, exact: boolean }>} count
 * @property {(connection: Connection, key: Key, retention: Retention) => Promise<VersionPlace | null>} [floor] the newest place
 *   that is not live because of its rank, where retention by number is by rank; null = none
 * @property {(connection: Connection, key: Key, now: { retention: Retention, nowMs: number }) =>
 *   Promise<{ removed: number, more: boolean }>} trim one piece of what is not live any more
 * @property {(connection: Connection, key: Key, expiry: { ttlMs: number, condition: 'GT' | 'NX' }) =>
 *   Promise<void>} extend gives stored items a new expiry after another window was set (0 = none): those that would
 *   expire earlier (GT), or have none yet (NX)
 */
import { FreshetError } from '../errors.js'
import { ids } from './ids.js'
import { segments } from './segments.js'
import { stream } from './stream.js'
import { values } from './values.js'

/** @type {Readonly<Record<string, Layout>>} */
const LAYOUTS = Object.freeze({ ids, values, stream, segments })

/** @returns {string[]} */
export const layoutNames = () => Object.keys(LAYOUTS)

/**
 * @param {string} name
 * @returns {Layout}
 * @throws {FreshetError} FEED_LAYOUT_UNKNOWN
 */
export function layoutOf (name) {
  if (Object.hasOwn(LAYOUTS, name)) return LAYOUTS[name]
  throw new FreshetError('FEED_LAYOUT_UNKNOWN', `layout ${name}; this version has ${layoutNames().join(' | ')}`)
}
