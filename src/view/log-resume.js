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
  BEFORE_FIRST, createReadSize, entriesAfter, entriesBefore, hasEntry, KEPT_BYTES, keptMs, newestEntryId, nextEntryId
} from '../layouts/index.js'
import { createOrigins } from './origins.js'

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
