/**
 * The newest versions of a feed in the order in which they arrived, deletions included, from its logs. A log of arrivals has no values: of
 * a version that has a newer one by now, nothing is left (log-arrived.js).
 *
 * @typedef {{ id: Buffer, ts: number, value: Buffer | null }} Arrived `value`: null = deleted
 */
import { createReadSize, entriesBefore } from '../layouts/index.js'
import { MAX_SCANNED } from './filtered-queries.js'
import { readArrived } from './log-arrived.js'
import { createEntriesAtOnce, headOf, isUnreadable, MAX_ENTRIES } from './log-resume.js'

/** of entries that are read, in all partitions together */
const MAX_BYTES = 16 * 1024 * 1024

/** @typedef {import('../item/index.js').IdFilter} IdFilter */
/** @typedef {import('../layouts/index.js').Log} Log */
/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {import('../store/index.js').Router} Connection */

/**
 * @param {Connection} connection
 * @param {{ layout: string, log: Log, keys: ((part: string) => string)[], limit: number, filter: IdFilter | null }} of `filter`: of a
 *   client that may see some ids only
 * @returns {Promise<{ items: Arrived[], isCut: boolean }>} oldest first, at most `limit`; `isCut`: more may be behind what was looked at
 */
export async function readTail (connection, { layout, log, keys, limit, filter }) {
  const bounds = { limit, filter, maxBytes: MAX_BYTES / keys.length, maxVersions: MAX_SCANNED / keys.length }
  const parts = await Promise.all(keys.map((key) => newestEntries(connection, log, key(log.part), bounds)))
  const read = parts.map(({ entries }) => entries)
  // newest first, so that a bound on values drops the oldest
  const arrived = log.isIndex ? await readArrived(connection, { layout, keys, found: read, size: createReadSize() }) : null
  const found = arrived?.found ?? read
  const versions = found.flatMap((entries) => {
    const origins = new Set()
    return [...entries].reverse().flatMap((entry) => {
      const origin = headOf(log, entry)?.origin
      // a batch that was sent again
      if (origin === undefined || origins.has(origin)) return []
      origins.add(origin)
      return versionsIn(log, entry, arrived?.versions).filter(({ id }) => filter === null || filter.has(id))
        .map((version) => ({ ms: entry.ms, version }))
    })
  })
  const items = versions.sort((a, b) => a.ms - b.ms).slice(-limit).map(({ version }) => version)
  return { items, isCut: filter !== null && items.length < limit && parts.some(({ isCut }) => isCut) }
}

/**
 * @param {Log} log @param {LogEntry} entry @param {Awaited<ReturnType<typeof readArrived>>['versions']} [arrived] of a log of arrivals
 * @returns {Arrived[]}
 */
function versionsIn (log, entry, arrived) {
  if (arrived) return (arrived.get(entry) ?? []).flatMap((one) => one ? [{ ...one, id: Buffer.from(one.id) }] : [])
  /** @type {Arrived[]} */
  const all = []
  try {
    log.each(entry.bytes, (bytes, idAt, idEnd, ts, _seq, deleted, valueAt, valueEnd) => {
      all.push({ id: Buffer.from(bytes.subarray(idAt, idEnd)), ts, value: deleted ? null : Buffer.from(bytes.subarray(valueAt, valueEnd)) })
    })
    return all
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return []
  }
}

/**
 * The newest entries of a log that have so many versions, or all, newest first.
 * @param {Connection} connection @param {Log} log @param {string} name
 * @param {{ limit: number, maxBytes: number, filter?: IdFilter | null, maxVersions?: number }} bound `filter`: only versions of these ids
 *   count, and entries with some; `maxVersions` that are looked at
 * @returns {Promise<{ entries: LogEntry[], isCut: boolean }>} without a filter at least one, if there is any; `isCut`: a bound other than
 *   `limit` ended it
 */
export async function newestEntries (connection, log, name, { limit, maxBytes, filter = null, maxVersions = Infinity }) {
  const size = createEntriesAtOnce()
  /** @type {LogEntry[]} */
  const all = []
  /** @type {string | null} */
  let before = null
  let versions = 0
  for (let seen = 0, read = 0; versions < limit;) {
    if (read >= maxBytes || seen >= maxVersions) return { entries: all, isCut: true }
    const count = size.of(filter === null ? Math.min(limit, MAX_ENTRIES) : MAX_ENTRIES)
    const entries = await entriesBefore(connection, name, { before, count })
    read += size.learn(entries, ({ bytes }) => bytes.length)
    for (const entry of entries) {
      if (versions >= limit) break
      const total = headOf(log, entry)?.count ?? 0
      seen += total
      const own = filter === null ? total : countOwn(log, entry, filter)
      versions += own
      if (filter === null || own > 0) all.push(entry)
    }
    if (entries.length < count) break
    before = /** @type {string} */ (entries.at(-1)?.entryId)
  }
  return { entries: all, isCut: false }
}

/** Versions of an entry that a client may see. @param {Log} log @param {LogEntry} entry @param {IdFilter} filter */
export function countOwn (log, { bytes }, filter) {
  let own = 0
  try {
    log.each(bytes, (from, idAt, idEnd) => { own += Number(filter.has(from, idAt, idEnd)) })
  } catch (error) {
    if (!isUnreadable(error)) throw error
  }
  return own
}
