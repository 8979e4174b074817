/**
 * The values of entries of a log of arrivals, for subscriptions: what the same node has stored of each version that an entry names. Of a
 * layout that keeps one version of an id, an arrival that has a newer one by then is skipped: a later entry names that one.
 *
 * @typedef {import('../layouts/index.js').Arrival} Arrival
 * @typedef {{ id: string, ts: number, value: Buffer | null }} Version
 * @typedef {import('../layouts/index.js').LogEntry} LogEntry
 */
import { layoutOf } from '../layouts/index.js'
import { isUnreadable } from './log-resume.js'

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
