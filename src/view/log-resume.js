/**
 * Resumes reading a log behind an entry, and detects a gap: POSITION_EXPIRED.
 *
 * There is no gap if the entry is still there, as a log is trimmed from its old end. Nor if everything behind it must still be
 * live: it arrived within the window, fewer than `maxItems` versions are behind it, and retention was not widened since. A log of arrivals
 * keeps its newest entry: it has the entry or an older one, and only a log that was empty must be young and small.
 *
 * @typedef {{ name: string, appendedName: string, entryId: string, versions: number, sinceMs: number, isNew?: boolean,
 *   origins: ReturnType<typeof createOrigins> }} Part of one partition. `appendedName`: key of the counter of appended versions;
 *   `versions`: how many of the entry were delivered, 0 = all; `sinceMs`: everything behind it arrived later, 0 = unknown; `isNew`: what
 *   was trimmed before the first read is no gap
 * @typedef {{ found: LogEntry[][], isSure: (boolean | null)[], count: number, log: Log }} Read by partition. `isSure`: there is
 *   no gap, null = it is to be read again; `count`: the limit of each partition
 * @typedef {import('../feeds/index.js').Definition} Definition
 * @typedef {import('../store/index.js').Router} Connection
 * @typedef {import('../layouts/index.js').LogEntry} LogEntry
 * @typedef {import('../layouts/index.js').Log} Log
 */
import { FreshetError } from '../errors.js'
import {
  BEFORE_FIRST, createReadSize, entriesAfter, entriesBefore, hasEntry, KEPT_BYTES, keptMs, layoutOf, newestEntryId, nextEntryId
} from '../layouts/index.js'
import { createOrigins } from './origins.js'

/**
 * The values of entries of a log of arrivals, for subscriptions: what the same node has stored of each version that an entry names. Of a
 * layout that keeps one version of an id, an arrival that has a newer one by then is skipped: a later entry names that one.
 *
 * @typedef {import('../layouts/index.js').Arrival} Arrival
 * @typedef {{ id: string, ts: number, value: Buffer | null }} Version
 */

/** of the values of one read; the entries behind are read again */
const MAX_BYTES = 16 * 1024 * 1024

/**
 * @param {import('../store/index.js').Router} connection that read the entries
 * @param {{ layout: string, keys: ((part: string) => string)[], found: LogEntry[][], size: import('../layouts/index.js').ReadSize }} of by
 *   partition
 * @returns {Promise<{ found: LogEntry[][], versions: Map<LogEntry, (Version | null)[]>, isCut: boolean }>} `found`: those whose versions
 *   were read, at least one; `versions`: null = skipped; none of entries that are unreadable
 */
export async function readArrived (connection, { layout, keys, found, size }) {
  /** @type {Map<LogEntry, (Version | null)[]>} */
  const versions = new Map()
  const of = layoutOf(layout)
  let bytes = 0
  let isCut = false
  const read = await Promise.all(found.map(async (entries, i) => {
    /** @type {LogEntry[]} */
    const taken = []
    for (const entry of entries) {
      if (taken.length > 0 && bytes > MAX_BYTES) {
        isCut = true
        break
      }
      taken.push(entry)
      const arrivals = arrivalsIn(of, entry)
      if (arrivals === null) continue
      const stored = await /** @type {NonNullable<typeof of.versionsAt>} */ (of.versionsAt)(connection, keys[i], arrivals, size)
      for (const one of stored) bytes += one?.value.length ?? 0
      versions.set(entry, arrivals.map((arrival, n) => versionOf(of, arrival, stored[n])))
    }
    return taken
  }))
  return { found: read, versions, isCut }
}

/** @param {import('../layouts/index.js').Layout} layout @param {LogEntry} entry @returns {Arrival[] | null} null = unreadable */
function arrivalsIn ({ arrivals }, { bytes }) {
  /** @type {Arrival[]} */
  const all = []
  try {
    /** @type {import('../layouts/index.js').Log} */ (arrivals).each(bytes, (from, idAt, idEnd, ts, seq, deleted) => {
      all.push({ id: Buffer.from(from.subarray(idAt, idEnd)), ts, seq, deleted })
    })
    return all
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return null
  }
}

/**
 * @param {import('../layouts/index.js').Layout} layout @param {Arrival} arrival
 * @param {import('../layouts/index.js').StoredVersion | null} stored @returns {Version | null}
 */
function versionOf (layout, { id, ts, seq, deleted }, stored) {
  const name = id.toString()
  // a deletion that is no longer stored has hidden all versions before it
  if (stored === null) return deleted && layout.describe().versions === 'one' ? { id: name, ts, value: null } : null
  if (stored.ts !== ts || stored.seq !== seq || stored.deleted !== deleted) return null
  return { id: name, ts, value: deleted ? null : Buffer.from(stored.value) }
}

export const MAX_ENTRIES = 1000
/** assumed size of an entry before the first one was read */
const LARGE_BYTES = 1024 * 1024
const MAX_N = '18446744073709551615'
/** by how much clocks may differ */
const SLACK_MS = 2000

/** How many entries to read at once. */
export function createEntriesAtOnce () {
  const size = createReadSize()
  size.learn([LARGE_BYTES], (bytes) => bytes)
  return size
}

/** @param {Definition} before @param {Definition} now */
export function checkSame ({ feed, layout, partitions }, now) {
  if (now.layout !== layout || now.partitions !== partitions) throw expired(feed, 'the feed was dropped and created again')
}

/**
 * @param {Connection} connection @param {Log} log @param {(part: string) => string} key
 * @param {{ position: import('../item/index.js').LogPosition | null, isNew?: boolean, partition: number, share: number,
 *   readMs: number }} from `position` null = the end of the log, or its beginning if `isNew`; `share`: bytes before it to
 *   scan for deliveries
 * @returns {Promise<Part>}
 */
export async function beginPart (connection, log, key, { position, isNew = false, partition, share, readMs }) {
  const origins = createOrigins()
  const name = key(log.part)
  const part = { name, appendedName: key('appended'), origins }
  if (position === null && isNew) return { ...part, entryId: BEFORE_FIRST, versions: 0, sinceMs: readMs, isNew }
  if (position === null) {
    const entryId = await newestEntryId(connection, name)
    await learnOrigins(connection, log, name, nextEntryId(entryId), { origins, share })
    return { ...part, entryId, versions: 0, sinceMs: readMs }
  }
  const { ms, n, versions, isEnd } = position.offsets[partition]
  const entryId = `${ms}-${n}`
  await learnOrigins(connection, log, name, versions > 0 ? entryId : nextEntryId(entryId), { origins, share })
  return { ...part, entryId, versions, sinceMs: isEnd ? readMs : 0 }
}

/**
 * Notes the batches that were delivered before an entry.
 * @param {Connection} connection @param {Log} log @param {string} name @param {string} before an entry id
 * @param {{ origins: ReturnType<typeof createOrigins>, share: number }} into `share`: bytes to scan
 */
async function learnOrigins (connection, log, name, before, { origins, share }) {
  const size = createEntriesAtOnce()
  for (let bytes = 0, isMore = true; isMore && bytes < share;) {
    const count = size.of(MAX_ENTRIES)
    const entries = await entriesBefore(connection, name, { before, count })
    bytes += size.learn(entries, (entry) => entry.bytes.length)
    for (const entry of entries) {
      const head = headOf(log, entry)
      if (head !== null) origins.add(head.origin)
    }
    isMore = entries.length === count
    before = entries.at(-1)?.entryId ?? before
  }
}

/**
 * The next entries of each partition, and whether there is a gap before them.
 * @param {Connection} connection
 * @param {{ feed: string, parts: Part[], log: Log, count: number, definition: Definition, nowMs: number }} question
 * @returns {Promise<Read>}
 * @throws {FreshetError} POSITION_EXPIRED
 */
export async function readBehind (connection, { feed, parts, log, count, definition, nowMs }) {
  const from = parts.map(({ name, entryId, versions }) => ({ name, after: versions > 0 ? previousEntryId(entryId) : entryId }))
  const answers = await Promise.allSettled(from.map((one) => entriesAfter(connection, [one], { count })))
  const failures = answers.flatMap((one) => one.status === 'rejected' ? [one.reason] : [])
  // a partition whose servers are away does not stop the others
  if (failures.length === parts.length || failures.some(({ retryable }) => !retryable)) throw failures[0]
  const found = answers.map((one) => one.status === 'fulfilled' ? one.value[0] : [])
  const isSure = await Promise.all(parts.map(async (part, i) => {
    if (answers[i].status === 'rejected') return null
    const { entryId, versions } = part
    if (versions > 0) {
      if (found[i].length > 0 && found[i][0].entryId !== entryId) throw expired(feed, `entry ${entryId} was trimmed`)
      return found[i].length > 0 ? true : log.isIndex ? null : false
    }
    const seen = found[i].length === count ? Infinity : found[i].reduce((sum, entry) => sum + (headOf(log, entry)?.count ?? 1), 0)
    // checked after the read: what is there now was there then
    const isThere = log.isIndex
      ? isWholeIndex(connection, part, { definition, found: found[i], isAll: found[i].length < count, nowMs })
      : isWhole(connection, part, { definition, seen, nowMs })
    const isKnown = await isThere
    if (isKnown === true) return true
    if (isKnown === null) {
      // what was found is not delivered yet
      found[i] = []
      return null
    }
    if (found[i].length === 0) return false
    throw expired(feed, `entries behind ${entryId === BEFORE_FIRST ? 'the start of the log' : entryId} may have been trimmed`)
  }))
  return { found, isSure, count, log }
}

/**
 * Whether nothing behind an entry was trimmed.
 * @param {Connection} connection
 * @param {Part} part
 * @param {{ definition: Definition, seen: number, nowMs: number }} now `seen`: versions behind the entry, Infinity = not all were read
 */
async function isWhole (connection, { name, appendedName, entryId, sinceMs, isNew }, { definition, seen, nowMs }) {
  if (isNew && entryId === BEFORE_FIRST) return true
  const { windowMs, maxItems, widenedAt } = definition
  const oldestMs = Math.max(sinceMs, Number(entryId.slice(0, entryId.indexOf('-'))))
  const isYoung = windowMs === 0 || nowMs - oldestMs < windowMs
  const wasKept = widenedAt === undefined || oldestMs >= Date.parse(widenedAt) + SLACK_MS
  if (isYoung && wasKept && (maxItems === 0 || seen < maxItems)) return true
  if (entryId !== BEFORE_FIRST) return hasEntry(connection, name, entryId)
  return isYoung && wasKept && Number(await connection.send('GET', appendedName) ?? Infinity) <= maxItems
}

/**
 * The same of a log of arrivals. null: not known, because the node has nothing of the log any more, for example where its slot has moved.
 * @param {Connection} connection @param {Part} part
 * @param {{ definition: Definition, found: LogEntry[], isAll: boolean, nowMs: number }} read
 * @returns {Promise<boolean | null>}
 */
async function isWholeIndex (connection, { name, entryId, sinceMs, isNew }, { definition, found, isAll, nowMs }) {
  if (entryId !== BEFORE_FIRST) {
    // the oldest go first: with this entry or an older one, nothing behind it has gone. Where its slot moved, or a replica was promoted,
    // the entry itself may never have been
    const before = await entriesBefore(connection, name, { before: nextEntryId(entryId), count: 1 })
    return before.length > 0 ? true : await newestEntryId(connection, name) === BEFORE_FIRST ? null : false
  }
  if (isNew === true) return true
  const entries = isAll ? found.length : await connection.send('XLEN', name)
  const largest = found.reduce((most, entry) => Math.max(most, entry.bytes.length), 0)
  return entries * largest < KEPT_BYTES / 4 && nowMs - sinceMs < keptMs(definition)
}

/** @param {Log} log @param {LogEntry} entry @returns {import('../item/index.js').EntryHead | null} null = unreadable */
export function headOf (log, { bytes }) {
  try {
    return log.head(bytes)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return null
  }
}

/** @param {any} error */
export const isUnreadable = ({ code }) => code === 'SEGMENT_INVALID' || code === 'SEGMENT_VERSION'

/** The largest id before an entry. @param {string} entryId */
function previousEntryId (entryId) {
  const [ms, n] = entryId.split('-').map(Number)
  return n > 0 ? `${ms}-${n - 1}` : `${ms - 1}-${MAX_N}`
}

/** @param {string} feed @param {string} why */
const expired = (feed, why) => new FreshetError('POSITION_EXPIRED',
  `the position in feed ${feed} is too old: ${why}; start again without it`)
