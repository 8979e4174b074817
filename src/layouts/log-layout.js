/**
 * The common part of `segments` and `stream`: a log in order of arrival. They differ in what an entry is.
 */
import { compareOrder } from '../item/index.js'
import { createKeptScans } from './kept-scans.js'
import { appendToLog } from './log-batch.js'
import { beginScan, compareVersions, MAX_SCAN } from './log-scan.js'
import { entriesBefore } from './log.js'
import { createReadSize, MAX_READ } from './read-size.js'
import { atMost, expiryCommand, windowStart } from './retention.js'

/** @typedef {import('./index.js').Layout} Layout */

/**
 * @param {{ log: Readonly<import('./log.js').Log>, createBatch: Layout['createBatch'], maxBatchItems: number, trimEntries: number }} parts
 *   `trimEntries`: maximum removed at once
 * @returns {Readonly<Layout>} named after the part of its keys
 */
export const createLogLayout = ({ log, createBatch, maxBatchItems, trimEntries }) => Object.freeze({
  name: log.part,
  format: 1,
  log,
  describe: () => /** @type {const} */ ({
    versions: 'many',
    late: 'newest',
    counted: 'by arrival',
    trims: 'entries',
    withoutView: { latest: 'newest', get: 'newest', count: 'estimate' },
    maxScan: MAX_SCAN,
    maxBatchItems,
    maxPage: MAX_READ,
    encodings: { [log.part]: 'stream' }
  }),
  createBatch,
  append: appendToLog,
  ...createLogQueries(log),
  ...createLogRetention(log, trimEntries)
})

/**
 * Retention of a log: trimming (lua/trim-log.lua) and key expiry.
 *
 *     fr:{feed:p}:<part>       stream
 *     fr:{feed:p}:ahead        sorted set    how far items are ahead of the server's clock (log-origin.js)
 *     fr:{feed:p}:appended     string        versions appended, if the feed has maxItems
 *     fr:{feed:p}:marks        sorted set    entry id -> versions appended when it was the newest
 */

/** clock skew allowed to readers and the server */
const SLACK_MS = 1000

/**
 * @param {import('./log.js').Log} log
 * @param {number} maxEntries removed at once
 * @returns {Pick<import('./index.js').Layout, 'excludedMs' | 'trim' | 'extend'>}
 */
const createLogRetention = ({ part }, maxEntries) => ({
  // the oldest mark stays when what it excludes is trimmed
  async excludedMs (connection, key, { maxItems }) {
    const [appended, [entryId, before]] = await connection.sendAll([
      ['GET', key('appended')], ['ZREVRANGE', key('marks'), -1, -1, 'WITHSCORES']
    ])
    return entryId && Number(appended) - Number(before) >= maxItems ? Number.parseInt(String(entryId)) : null
  },

  async trim (connection, key, { retention: { windowMs, maxItems }, nowMs }) {
    const keys = [part, 'ahead', 'appended', 'marks'].map(key)
    const removed = await connection.runScript('trim-log', keys, [windowMs, maxItems, nowMs, SLACK_MS, maxEntries])
    // the server removes whole tree nodes only, so a short removal does not mean the end
    return { removed, more: removed > 0 }
  },

  async extend (connection, key, expiry) {
    await connection.sendAll([part, 'ahead', 'appended', 'marks'].map((name) => expiryCommand(key(name), expiry)))
  }
})

/**
 * Queries of log layouts without a view. Answers are exact, or VIEW_NEEDED where a scan would have to read too far back
 * (log-scan.js).
 *
 * @typedef {import('./log-scan.js').Version} Version
 */

/** @type {ReturnType<typeof createKeptScans<import('./log-scan.js').State>>} */
const scans = createKeptScans()

/** @param {import('./log.js').Log} log @returns {Pick<Layout, 'latest' | 'get' | 'count'>} */
const createLogQueries = (log) => ({
  async latest (connection, key, { limit, after, sinceMs, retention, nowMs, scan: before }) {
    const name = key(log.part)
    const scan = await beginScan(connection, key, { log, retention, nowMs, state: after ? scans.take(before, name) : null })
    const minTs = Math.max(sinceMs ?? 0, scan.minTs)
    const wanted = Math.min(limit, MAX_READ)
    for (;;) {
      const bound = scan.bound < minTs ? -1 : scan.bound
      const found = scan.newest()
        .filter((version) =>
          !version.deleted && version.ts >= minTs && version.ts > bound && (after === null || compareOrder(version, after) < 0))
      if (bound < 0 || found.length >= wanted) {
        const items = found.sort((a, b) => compareVersions(b, a)).slice(0, wanted)
        const last = items.at(-1)
        const isMore = found.length > wanted || (bound >= 0 && items.length === wanted)
        return {
          items: items.map(itemOf),
          next: last && isMore ? { ts: last.ts, seq: last.seq, id: Buffer.from(last.id) } : null,
          scan: scans.keep(name, scan.state)
        }
      }
      await scan.read()
    }
  },

  async get (connection, key, ids, { retention, nowMs }) {
    if (ids.length === 0) return []
    const scan = await beginScan(connection, key, { log, retention, nowMs })
    // a version above the bound is the newest of its id
    const isFound = (/** @type {Buffer} */ id) => (scan.newestOf(id)?.ts ?? -1) > scan.bound
    while (scan.bound >= 0 && !ids.every(isFound)) await scan.read()
    return ids.map((id) => {
      const version = scan.newestOf(id)
      return version === null || version.deleted || version.ts < scan.minTs ? null : itemOf(version)
    })
  },

  count: (connection, key, now) => countLog(connection, key, { log, ...now })
})

/** @param {Version} version @returns {import('./index.js').Item} */
const itemOf = ({ id, ts, seq, value }) => ({ id, ts, seq, value })

/**
 * Estimates the live versions of a log, superseded ones and deletions included: counts those of the newest entries, and
 * extrapolates to the rest of the window if there are more entries.
 */

/** versions counted before extrapolating */
const COUNTED = 10_000
const FIRST_ENTRIES = 8

/**
 * @param {import('./index.js').Connection} connection @param {import('./index.js').Key} key
 * @param {{ log: import('./log.js').Log, retention: import('./index.js').Retention, nowMs: number }} options
 * @returns {Promise<{ count: number, exact: boolean }>}
 */
async function countLog (connection, key, { log, retention, nowMs }) {
  const name = key(log.part)
  const { maxItems } = retention
  const minTs = windowStart(retention, nowMs)
  const size = createReadSize()
  const origins = new Set()
  /** @type {import('./log.js').LogEntry | null} */
  let oldest = null
  let read = 0
  let stored = 0
  let live = 0
  let ended = false

  /** @param {Buffer} bytes */
  function countEntry (bytes) {
    try {
      const { origin } = log.head(bytes)
      if (origins.has(origin)) return
      // in order of append: maxItems excludes the first ones
      /** @type {number[]} */
      const times = []
      log.each(bytes, (_, idAt, idEnd, ts) => { times.push(ts) })
      origins.add(origin)
      const room = maxItems === 0 ? times.length : Math.max(0, maxItems - stored)
      for (const ts of times.slice(Math.max(0, times.length - room))) if (ts >= minTs) live++
      stored += times.length
    } catch (error) {
      if (error.code !== 'SEGMENT_INVALID' && error.code !== 'SEGMENT_VERSION') throw error
    }
  }

  const isOver = () => ended || (maxItems > 0 && stored >= maxItems)
  for (let entries = FIRST_ENTRIES; !isOver() && stored < COUNTED; entries *= 2) {
    const count = size.of(entries)
    const piece = await entriesBefore(connection, name, { before: oldest?.entryId ?? null, count })
    for (const entry of piece) {
      countEntry(entry.bytes)
      read++
    }
    oldest = piece.at(-1) ?? oldest
    size.learn(piece, (entry) => /** @type {import('./log.js').LogEntry} */ (entry).bytes.length)
    ended = piece.length < count
  }
  if (isOver() || oldest === null) return { count: live, exact: false }
  const [all, [first]] = await connection.sendAll([['XLEN', name], ['XRANGE', name, '-', '+', 'COUNT', 1]])
  const firstMs = first ? Number.parseInt(String(first[0])) : oldest.ms
  const span = oldest.ms - firstMs
  const share = span > 0 ? Math.min(1, Math.max(0, (oldest.ms - Math.max(firstMs, minTs)) / span)) : 1
  const estimate = Math.round(live + Math.max(0, all - read) * share * (live / read))
  return { count: atMost(estimate, retention), exact: false }
}
