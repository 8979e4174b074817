/**
 * The newest versions of a feed in the order in which they arrived, deletions included, from its logs. A log of arrivals has no values: of
 * a version that has a newer one by now, nothing is left (arrivals-versions.js).
 *
 * @typedef {{ id: Buffer, ts: number, value: Buffer | null }} Arrived `value`: null = deleted
 */
import { createReadSize, entriesBefore } from '../layouts/index.js'
import { readArrived } from './arrivals-versions.js'
import { createEntriesAtOnce, headOf, isUnreadable, MAX_ENTRIES } from './log-resume.js'

/** of entries that are read, in all partitions together */
const MAX_BYTES = 16 * 1024 * 1024

/** @typedef {import('../layouts/index.js').Log} Log */
/** @typedef {import('../layouts/index.js').LogEntry} LogEntry */
/** @typedef {import('../store/index.js').Router} Connection */

/**
 * @param {Connection} connection
 * @param {{ layout: string, log: Log, keys: ((part: string) => string)[], limit: number }} of
 * @returns {Promise<Arrived[]>} oldest first, at most `limit`
 */
export async function readTail (connection, { layout, log, keys, limit }) {
  const maxBytes = MAX_BYTES / keys.length
  const read = await Promise.all(keys.map((key) => newestEntries(connection, log, key(log.part), { limit, maxBytes })))
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
      return versionsIn(log, entry, arrived?.versions).map((version) => ({ ms: entry.ms, version }))
    })
  })
  return versions.sort((a, b) => a.ms - b.ms).slice(-limit).map(({ version }) => version)
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
 * @param {{ limit: number, maxBytes: number }} bound
 * @returns {Promise<LogEntry[]>} at least one, if there is any
 */
export async function newestEntries (connection, log, name, { limit, maxBytes }) {
  const size = createEntriesAtOnce()
  /** @type {LogEntry[]} */
  const all = []
  /** @type {string | null} */
  let before = null
  for (let versions = 0, read = 0; versions < limit && read < maxBytes;) {
    const count = size.of(Math.min(limit, MAX_ENTRIES))
    const entries = await entriesBefore(connection, name, { before, count })
    read += size.learn(entries, ({ bytes }) => bytes.length)
    for (const entry of entries) {
      if (versions >= limit) break
      versions += headOf(log, entry)?.count ?? 0
      all.push(entry)
    }
    if (entries.length < count) break
    before = /** @type {string} */ (entries.at(-1)?.entryId)
  }
  return all
}
