/**
 * The common part of `segments` and `stream`: a log in order of arrival. They differ in what an entry is.
 */
import { compareOrder } from '../item/index.js'
import { beginScan, compareVersions, entriesBefore, MAX_SCAN } from './log.js'
import { createReadSize, MAX_READ } from '../read-size.js'
import { createKeptScans } from './kept-scans.js'
import { atMost, expiryCommand, windowStart } from './retention.js'
import { argument, command, EXEC, MULTI, NOTHING, wholeCommand } from './wire.js'

/**
 * The commands around the entries of a batch for a log:
 *
 *     MULTI
 *     ZADD ahead GT ms <member>          if its items are further ahead than announced (log-origin.js)
 *     XADD ...                           entries as the layout encodes them
 *     INCRBY appended n                  if the feed has maxItems, at the first sending only
 *     PEXPIRE <key> ttl                  of each key, once a second, if the feed has an age limit
 *     EXEC
 *
 * A single entry without other commands goes without MULTI and EXEC, which would be a tenth of the server's work for a small
 * batch.
 *
 * A batch that is sent again because its outcome is unknown has the same entries. They may be stored twice; readers detect
 * that by their origin. `appended` counts versions for trimming (lua/trim-log.lua) and skips batches that are sent again,
 * unless the server had refused them. It may be too low, which keeps more for a while, but never too high.
 */

/** MULTI, ZADD with the longest key and the head of the first XADD take 480 bytes */
export const HEAD_BUDGET = 768

/** @typedef {ReturnType<typeof createLogFrame>} LogFrame */

/**
 * @param {{ key: (part: string) => string, part: string, ttlMs: number, maxItems?: number,
 *   origin: import('./log-origin.js').Origin }} options
 */
export function createLogFrame ({ key, part, ttlMs, maxItems = 0, origin }) {
  const aheadKey = key('ahead')
  // a change is sent at once
  const lifetime = `${ttlMs} ${maxItems > 0}`
  const names = [key(part), key('appended'), aheadKey]
  const expiries = Buffer.concat(names.map((name) => wholeCommand('PEXPIRE', name, ttlMs)))
  /** @type {{ ms: number, member: string } | null} */
  let announcement = null
  let isExpiring = false
  /** whether it was sent before, and may be stored */
  let isAgain = false
  let wasAgain = false

  return {
    /**
     * Frames the entries, which fill the wire from HEAD_BUDGET to its end.
     * @param {import('./wire.js').Wire} wire @param {{ count: number, lastTs: number, head: Buffer, entries: number }} batch `head`: of the
     *   first entry; `entries`: their number
     * @returns {{ bytes: Buffer, replies: number }}
     */
    around (wire, { count, lastTs, head, entries }) {
      announcement = origin.ahead(aheadKey).needed(lastTs)
      const announces = announcement ? wholeCommand('ZADD', aheadKey, 'GT', announcement.ms, announcement.member) : NOTHING
      const counts = maxItems > 0 && !isAgain ? wholeCommand('INCRBY', key('appended'), count) : NOTHING
      isExpiring = ttlMs > 0 && (announcement !== null || origin.expiry(key(part)).isDue(lifetime))
      const expires = isExpiring ? expiries : NOTHING
      wasAgain = isAgain
      isAgain = true
      const isAlone = entries === 1 && announcement === null && counts.length === 0 && !isExpiring
      const front = isAlone ? head : Buffer.concat([MULTI, announces, head])
      const start = HEAD_BUDGET - front.length
      front.copy(wire.bytes, start)
      const end = wire.length
      wire.reserve(counts.length + expires.length + EXEC.length)
      if (!isAlone) for (const part of [counts, expires, EXEC]) wire.long(part)
      const bytes = wire.bytes.subarray(start, wire.length)
      wire.length = end
      return {
        bytes, replies: isAlone ? 1 : 1 + (announcement ? 1 : 0) + entries + (counts.length ? 1 : 0) + (isExpiring ? names.length : 0) + 1
      }
    },

    /** The batch is stored. */
    stored () {
      if (announcement) origin.ahead(aheadKey).announced(announcement)
      if (isExpiring) origin.expiry(key(part)).stored(lifetime)
      announcement = null
      isExpiring = false
    },

    /** The server refused the last sending. */
    refused () { isAgain = wasAgain },

    reset () {
      announcement = null
      isExpiring = false
      isAgain = false
    }
  }
}

/** The beginning of an XADD of one field, up to the length of its value. @param {string} name @param {string} field */
export const xaddHead = (name, field) => Buffer.from(command(5, 'XADD', name, '*').toString() + argument(field))

/** @type {WeakMap<object, LogFrame>} of batches */
const frames = new WeakMap()

/**
 * @template {object} T
 * @param {T} batch
 * @param {LogFrame} frame
 * @returns {T} the same batch; appendToLog reports the outcome to its frame
 */
export function framed (batch, frame) {
  frames.set(batch, frame)
  return batch
}

/** @type {import('./index.js').Layout['append']} */
async function appendToLog (connection, batch) {
  const frame = frames.get(batch)
  try {
    await connection.sendEncoded(batch.encoded())
    frame?.stored()
  } catch (error) {
    if (['full', 'later', 'moved'].includes(error.outcome)) frame?.refused()
    throw error
  }
  return { late: 0 }
}

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
 * (log.js).
 *
 * @typedef {import('./log.js').Version} Version
 */

/** @type {ReturnType<typeof createKeptScans<import('./log.js').State>>} */
const scans = createKeptScans()

/** @param {import('./log.js').Log} log @returns {Pick<Layout, 'latest' | 'get' | 'count'>} */
const createLogQueries = (log) => ({
  async latest (connection, key, { limit, after, sinceMs, retention, nowMs, scan: before }) {
    const name = key(log.part)
    const scan = await beginScan(connection, key, { log, retention, nowMs, state: after ? scans.take(before, name) : null })
    const minTs = Math.max(sinceMs ?? 0, scan.minTs)
    const count = Math.min(limit, MAX_READ)
    for (;;) {
      const bound = scan.bound < minTs ? -1 : scan.bound
      const versions = scan.newest()
        .filter((version) =>
          !version.deleted && version.ts >= minTs && version.ts > bound && (after === null || compareOrder(version, after) < 0))
      if (bound < 0 || versions.length >= count) {
        const items = versions.sort((a, b) => compareVersions(b, a)).slice(0, count)
        const last = items.at(-1)
        const isMore = versions.length > count || (bound >= 0 && items.length === count)
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
