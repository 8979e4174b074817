/**
 * A walk over a log, from its newest entry back, from which log layouts answer. What a log is ordered by is arrival; what
 * is asked for is ordered by event time:
 *
 *     oldest ............ read next | read (all versions known) | came since: read first by the next page
 *     ts <= ms + ahead              ^ place
 *
 * Nothing that was not read is newer than the time of the place plus `ahead`, which writers have said (log-origin.js). So
 * all versions above that bound are known, and of their ids which is the newest. Late versions lie on the newer side and
 * were read before.
 *
 * With maxItems the versions that arrived last are live, so many; what is beyond them is not read. An entry that cannot be
 * read, or one that was delivered twice, is passed over.
 */
import { FreshetError } from '../errors.js'
import { compareOrder } from '../item/order.js'
import { BEFORE_ALL, comparePlaces, entriesAfter, entryOf, newestPlace } from './log.js'
import { createPieceSize } from './pieces.js'

/** Versions looked at for one question, and their bytes: beyond it an answer costs server and reader more than a view would. */
export const MAX_WALK = 20_000
const MAX_WALK_BYTES = 32 * 1024 * 1024

/** entries of the first piece; while there is more to read, each is twice the one before */
const FIRST_ENTRIES = 4
const NEWER_ENTRIES = 64

/** @typedef {import('./log.js').LogEntry} LogEntry */
/** @typedef {import('../item/order.js').Place & { stamp: number, deleted: boolean, value: Buffer, name: string, arrival: number }} Version
 *   `name`: the id, byte for character; `arrival`: rises in order of arrival */
/** @typedef {ReturnType<typeof newState>} State */
/** @typedef {Awaited<ReturnType<typeof beginWalk>>} Walk */

const newState = () => ({
  newest: BEFORE_ALL,
  /** @type {LogEntry | null} the oldest that was read */
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
  size: createPieceSize()
})

/**
 * @param {import('./index.js').Connection} connection
 * @param {import('./index.js').Key} key
 * @param {{ log: import('./log.js').Log, retention: import('./index.js').Retention, nowMs: number, state?: State | null }} options
 *   `state`: of an earlier page, which no other goes on from
 */
export async function beginWalk (connection, key, { log, retention: { windowMs, maxItems }, nowMs, state = null }) {
  const name = key(log.part)
  const minTs = windowMs ? nowMs - windowMs : 0
  const at = state ?? newState()

  /** @param {LogEntry} entry @param {'older' | 'newer'} side */
  function take ({ bytes }, side) {
    /** @type {Version[]} */
    const found = []
    at.bytes += bytes.length
    at.read++
    try {
      const { origin, stamp } = log.head(bytes)
      if (at.origins.has(origin)) return
      log.each(bytes, (from, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
        found.push({ id: from.subarray(idAt, idEnd), name: from.toString('latin1', idAt, idEnd), ts, seq, stamp, deleted, value: from.subarray(valueAt, valueEnd), arrival: found.length })
      })
      at.origins.add(origin)
    } catch (error) {
      if (error.code !== 'SEGMENT_INVALID' && error.code !== 'SEGMENT_VERSION') throw error
    }
    const base = side === 'newer' ? at.lastArrival + 1 : at.firstArrival - found.length
    if (side === 'newer') at.lastArrival += found.length
    else at.firstArrival -= found.length
    for (const version of found) {
      version.arrival += base
      at.versions.push(version)
      note(version)
    }
  }

  /** @param {Version} version */
  function note (version) {
    const known = at.best.get(version.name)
    if (known === undefined || compareVersions(version, known) > 0) at.best.set(version.name, version)
  }

  /** Leaves out what newer arrivals put beyond maxItems. */
  function keepNewest () {
    if (maxItems === 0 || at.versions.length <= maxItems) return
    const floor = at.lastArrival - maxItems
    at.versions = at.versions.filter(({ arrival }) => arrival > floor)
    at.firstArrival = floor + 1
    at.best.clear()
    at.versions.forEach(note)
  }

  /** @param {number} count */
  async function readOlder (count) {
    const before = at.oldest ? `(${at.oldest.place}` : '+'
    // what a writer says comes before what it is about, so it is asked for behind it
    const [reply, ahead] = await connection.sendAll([['XREVRANGE', name, before, '-', 'COUNT', count], ['ZREVRANGE', key('ahead'), 0, 0, 'WITHSCORES']])
    at.aheadMs = Math.max(at.aheadMs, Number(ahead[1] ?? 0))
    const entries = reply.map(entryOf)
    if (at.oldest === null && entries.length > 0) at.newest = entries[0].place
    for (const entry of entries) {
      take(entry, 'older')
      at.oldest = entry
    }
    at.size.learn(entries, (entry) => /** @type {LogEntry} */ (entry).bytes.length)
    at.ended = entries.length < count
  }

  /** Reads what came since the page before; not what goes on coming. */
  async function readNewer () {
    let last = ''
    for (let more = true; more;) {
      const count = at.size.of(NEWER_ENTRIES)
      const [entries] = await entriesAfter(connection, [{ name, after: at.newest }], { count })
      for (const entry of entries) {
        take(entry, 'newer')
        at.newest = entry.place
      }
      more = entries.length === count && (last === '' || comparePlaces(at.newest, last) < 0)
      if (more && at.versions.length > 2 * MAX_WALK) throw viewNeeded()
      if (more && last === '') last = await newestPlace(connection, name)
    }
  }

  if (state) {
    await readNewer()
    keepNewest()
  }

  return {
    state: at,
    minTs,

    /** No live version that was not read is newer; below 0 there is none. @returns {number} ms */
    get bound () {
      if (at.ended || (maxItems > 0 && at.versions.length >= maxItems)) return -1
      const bound = at.oldest === null ? Infinity : at.oldest.ms + at.aheadMs
      return bound < minTs ? -1 : bound
    },

    /**
     * Reads on.
     * @throws {FreshetError} VIEW_NEEDED
     */
    async read () {
      if (at.versions.length >= MAX_WALK) throw viewNeeded()
      if (at.bytes >= MAX_WALK_BYTES) throw viewNeeded(`${MAX_WALK_BYTES / 1024 / 1024} MiB of stored versions`)
      const perEntry = at.read === 0 ? 1 : at.versions.length / at.read
      const count = Math.min(at.size.of(at.entries), Math.ceil((MAX_WALK - at.versions.length) / Math.max(1, perEntry)))
      at.entries *= 2
      await readOlder(count)
      keepNewest()
    },

    /** The newest version of an id, live or not. @param {Buffer} id */
    newestOf: (id) => at.best.get(id.toString('latin1')) ?? null,

    /** Of each id, if it is not older than the window. @returns {Version[]} in no order, deletions too */
    newest: () => [...at.best.values()].filter(({ ts }) => ts >= minTs),

    /** Of all versions that are not older than the window. @returns {Version[]} in no order */
    kept: () => at.versions.filter(({ ts }) => ts >= minTs)
  }
}

/** By order, then by append. @param {Version} a @param {Version} b */
export const compareVersions = (a, b) => compareOrder(a, b) || a.stamp - b.stamp || a.arrival - b.arrival

/** @param {string} [looked] */
const viewNeeded = (looked = `${MAX_WALK} stored versions`) => new FreshetError('VIEW_NEEDED', `${looked} were looked at, newest first, and the answer needs more of them; ask for fewer or newer items, or store the feed in layout ids`, { looked: MAX_WALK })
