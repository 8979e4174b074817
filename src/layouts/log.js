/**
 * Reads entries of a log (a Redis stream). In all log layouts an entry has one field, whose value `log.head` and `log.each`
 * decode.
 *
 * @typedef {{ entryId: string, bytes: Buffer, ms: number }} LogEntry `entryId`: '<ms>-<n>'; `ms`: its arrival on
 *   the server's clock, monotonic
 * @typedef {import('../store/index.js').Router} Connection
 * @typedef {import('../item/index.js').EntryHead} EntryHead
 * @typedef {{ part: string, field: string, isIndex?: boolean, head: (bytes: Buffer) => EntryHead,
 *   each: (bytes: Buffer, visit: import('../item/index.js').Visit) => void }} Log how a layout stores a log: `part` of
 *   the key; `isIndex`: entries have no values, which are read from where the layout stores them; `head` and `each` throw SEGMENT_INVALID
 *   or SEGMENT_VERSION, `each` before its first visit
 */
import { FreshetError } from '../errors.js'
import { compareOrder } from '../item/index.js'
import { createReadSize } from '../read-size.js'
import { windowStart } from './retention.js'

/**
 * A backward scan of a log, from which log layouts answer queries. A log is ordered by arrival; queries ask for event time:
 *
 *     oldest ............ read next | read (all versions known) | new arrivals: the next page reads them first
 *     ts <= ms + ahead              ^ oldest read
 *
 * No unread version is newer than the time of the oldest entry read plus `ahead`, which writers announce (log-origin.js). So
 * all versions above that bound are known, and so is the newest version of each id there. Late versions lie on the newer
 * side and were read before.
 *
 * With maxItems the versions that arrived last are live; older ones are not read. Unreadable and duplicate entries are
 * skipped.
 */

/** Limits of one query, in versions and bytes: beyond them an answer costs server and reader more than a view would. */
export const MAX_SCAN = 20_000
const MAX_SCAN_BYTES = 32 * 1024 * 1024

/** entries of the first read; each further read doubles it */
const FIRST_ENTRIES = 4
const NEWER_ENTRIES = 64

/** @typedef {import('../item/index.js').Place & { stamp: number, deleted: boolean, value: Buffer, name: string, arrival: number }} Version
 *   `name`: the id as latin1; `arrival`: rises in order of arrival */
/** @typedef {ReturnType<typeof newState>} State */
/** @typedef {Awaited<ReturnType<typeof beginScan>>} Scan */

const newState = () => ({
  newest: BEFORE_FIRST,
  /** @type {LogEntry | null} the oldest entry read */
  oldest: null,
  ended: false,
  aheadMs: 0,
  bytes: 0,
  read: 0,
  entries: FIRST_ENTRIES,
  firstArrival: 0,
  lastArrival: -1,
  /** @type {Version[]} */
  versions: [],
  /** @type {Map<string, Version>} the newest of each id */
  best: new Map(),
  /** @type {Set<string>} */
  origins: new Set(),
  size: createReadSize()
})

/**
 * @param {import('./index.js').Connection} connection
 * @param {import('./index.js').Key} key
 * @param {{ log: Log, retention: import('./index.js').Retention, nowMs: number, state?: State | null }} options
 *   `state`: of the previous page; used once
 */
export async function beginScan (connection, key, { log, retention, nowMs, state = null }) {
  const name = key(log.part)
  const { maxItems } = retention
  const minTs = windowStart(retention, nowMs)
  const at = state ?? newState()

  /** @param {number} count */
  async function readOlder (count) {
    const before = at.oldest ? `(${at.oldest.entryId}` : '+'
    // writers announce `ahead` before they store the entry, so it is read after the entries
    const [reply, ahead] = await connection.sendAll([
      ['XREVRANGE', name, before, '-', 'COUNT', count], ['ZREVRANGE', key('ahead'), 0, 0, 'WITHSCORES']
    ])
    at.aheadMs = Math.max(at.aheadMs, Number(ahead[1] ?? 0))
    const entries = reply.map(entryOf)
    if (at.oldest === null && entries.length > 0) at.newest = entries[0].entryId
    for (const entry of entries) {
      takeEntry(at, log, entry, 'older')
      at.oldest = entry
    }
    at.size.learn(entries, (entry) => /** @type {LogEntry} */ (entry).bytes.length)
    at.ended = entries.length < count
  }

  /** Reads the entries that arrived since the previous page, up to the newest one now. */
  async function readNewer () {
    let last = ''
    for (let more = true; more;) {
      const count = at.size.of(NEWER_ENTRIES)
      const [entries] = await entriesAfter(connection, [{ name, after: at.newest }], { count })
      for (const entry of entries) {
        takeEntry(at, log, entry, 'newer')
        at.newest = entry.entryId
      }
      more = entries.length === count && (last === '' || compareEntryIds(at.newest, last) < 0)
      if (more && at.versions.length > 2 * MAX_SCAN) throw viewNeeded()
      if (more && last === '') last = await newestEntryId(connection, name)
    }
  }

  if (state) {
    await readNewer()
    keepNewest(at, maxItems)
  }

  return {
    state: at,
    minTs,

    /** No unread live version is newer than this time; below 0 there is none. @returns {number} ms */
    get bound () {
      if (at.ended || (maxItems > 0 && at.versions.length >= maxItems)) return -1
      const bound = at.oldest === null ? Infinity : at.oldest.ms + at.aheadMs
      return bound < minTs ? -1 : bound
    },

    /**
     * Reads further back.
     * @throws {FreshetError} VIEW_NEEDED
     */
    async read () {
      if (at.versions.length >= MAX_SCAN) throw viewNeeded()
      if (at.bytes >= MAX_SCAN_BYTES) throw viewNeeded(`${MAX_SCAN_BYTES / 1024 / 1024} MiB of stored versions`)
      const perEntry = at.read === 0 ? 1 : at.versions.length / at.read
      const count = Math.min(at.size.of(at.entries), Math.ceil((MAX_SCAN - at.versions.length) / Math.max(1, perEntry)))
      at.entries *= 2
      await readOlder(count)
      keepNewest(at, maxItems)
    },

    /** The newest version of an id, live or not. @param {Buffer} id */
    newestOf: (id) => at.best.get(id.toString('latin1')) ?? null,

    /** The newest version of each id, within the window. @returns {Version[]} unordered, with deletions */
    newest: () => [...at.best.values()].filter(({ ts }) => ts >= minTs)
  }
}

/** Adds the versions of an entry. @param {State} at @param {Log} log @param {LogEntry} entry @param {'older' | 'newer'} side */
function takeEntry (at, log, { bytes }, side) {
  /** @type {Version[]} */
  const versions = []
  at.bytes += bytes.length
  at.read++
  try {
    const { origin, stamp } = log.head(bytes)
    if (at.origins.has(origin)) return
    log.each(bytes, (from, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
      versions.push({
        id: from.subarray(idAt, idEnd),
        name: from.toString('latin1', idAt, idEnd),
        ts,
        seq,
        stamp,
        deleted,
        value: from.subarray(valueAt, valueEnd),
        arrival: versions.length
      })
    })
    at.origins.add(origin)
  } catch (error) {
    if (error.code !== 'SEGMENT_INVALID' && error.code !== 'SEGMENT_VERSION') throw error
  }
  const base = side === 'newer' ? at.lastArrival + 1 : at.firstArrival - versions.length
  if (side === 'newer') at.lastArrival += versions.length
  else at.firstArrival -= versions.length
  for (const version of versions) {
    version.arrival += base
    at.versions.push(version)
    keepIfBest(at, version)
  }
}

/** @param {State} at @param {Version} version */
function keepIfBest (at, version) {
  const best = at.best.get(version.name)
  if (best === undefined || compareVersions(version, best) > 0) at.best.set(version.name, version)
}

/** Drops the versions that newer arrivals pushed beyond maxItems. @param {State} at @param {number} maxItems 0 = no limit */
function keepNewest (at, maxItems) {
  if (maxItems === 0 || at.versions.length <= maxItems) return
  const floor = at.lastArrival - maxItems
  at.versions = at.versions.filter(({ arrival }) => arrival > floor)
  at.firstArrival = floor + 1
  at.best.clear()
  for (const version of at.versions) keepIfBest(at, version)
}

/** By order, then by append. @param {Version} a @param {Version} b */
export const compareVersions = (a, b) => compareOrder(a, b) || a.stamp - b.stamp || a.arrival - b.arrival

/** @param {string} [looked] */
const viewNeeded = (looked = `${MAX_SCAN} stored versions`) => new FreshetError('VIEW_NEEDED',
  `${looked} were looked at, newest first, and the answer needs more of them; ask for fewer or newer items, or store the feed in layout ` +
    'ids',
  { looked: MAX_SCAN })

/** before all entries */
export const BEFORE_FIRST = '0-0'

/**
 * Entries after the given ids, in order of arrival.
 * @param {Connection} connection with `blockMs` a dedicated one, because XREAD blocks it
 * @param {{ name: string, after: string }[]} from keys, each with an entry id
 * @param {{ count: number, blockMs?: number }} options `count`: maximum per key; `blockMs`: longest wait for each key; the
 *   server answers one after the other
 * @returns {Promise<LogEntry[][]>} by key, as in `from`
 */
export const entriesAfter = (connection, from, options) => Promise.all(from.map((key) => entriesBehind(connection, key, options)))

/**
 * The same of one key, as a cluster refuses keys of different slots.
 * @param {Connection} connection @param {{ name: string, after: string }} from @param {{ count: number, blockMs?: number }} options
 * @returns {Promise<LogEntry[]>}
 */
export async function entriesBehind (connection, { name, after }, { count, blockMs }) {
  const waiting = blockMs === undefined ? [] : ['BLOCK', blockMs]
  const reply = await connection.send('XREAD', 'COUNT', count, ...waiting, 'STREAMS', name, after)
  return reply === null ? [] : reply[0][1].map(entryOf)
}

/**
 * Entries before an id, newest first.
 * @param {Connection} connection @param {string} name
 * @param {{ before: string | null, count: number }} options `before`: exclusive; null = from the newest on
 * @returns {Promise<LogEntry[]>}
 */
export async function entriesBefore (connection, name, { before, count }) {
  const reply = await connection.send('XREVRANGE', name, before === null ? '+' : `(${before}`, '-', 'COUNT', count)
  return reply.map(entryOf)
}

/** @param {Connection} connection @param {string} name @returns {Promise<string>} '0-0' if the log is empty */
export async function newestEntryId (connection, name) {
  const [newest] = await entriesBefore(connection, name, { before: null, count: 1 })
  return newest?.entryId ?? BEFORE_FIRST
}

/** @param {string} a @param {string} b entry ids @returns {number} negative when a arrived before b */
export function compareEntryIds (a, b) {
  const [msA, nA] = a.split('-')
  const [msB, nB] = b.split('-')
  return Number(msA) - Number(msB) || Number(nA) - Number(nB)
}

/** The smallest id after an entry. @param {string} entryId */
export function nextEntryId (entryId) {
  const [ms, n] = entryId.split('-')
  return `${ms}-${Number(n) + 1}`
}

/** Whether an entry is still stored. @param {Connection} connection @param {string} name @param {string} entryId */
export async function hasEntry (connection, name, entryId) {
  const [entry] = await entriesBefore(connection, name, { before: nextEntryId(entryId), count: 1 })
  return entry?.entryId === entryId
}

/** @param {[Buffer, Buffer[]]} entry its id; field, value, ... @returns {LogEntry} */
export function entryOf ([id, fields]) {
  const entryId = id.toString('latin1')
  return { entryId, bytes: fields[1], ms: Number(entryId.slice(0, entryId.indexOf('-'))) }
}
