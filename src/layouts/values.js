/**
 * Layout `values`: one sorted set that holds every version of the items themselves.
 *
 *     fr:{feed:p}:values      sorted set   <id> 0 <stamp> <flags> <value> -> ts + seq / 4096      (item/member.js)
 *     fr:{feed:p}:arrivals    stream       which versions came        (arrivals.js)
 *
 * One command stores the items of a batch, one reads a page, and no key expires on its own. But nothing maps an id to its newest version,
 * so queries scan from the newest member down (values-scan.js), to a limit. A view (src/view) has no such limit.
 *
 * The newest version of an id counts, however late an older one arrives; of equal versions the later append. A deletion is a
 * version too.
 *
 * Retention: versions older than the window or beyond rank maxItems are not live; superseded versions and deletions count.
 * `trim` removes them from the old end. The whole key expires when writing stops.
 */
import { compareOrder, memberBound, scoreOf } from '../item/index.js'
import { arrivals, sendWith, trimArrivals } from './arrivals.js'
import { createKeptScans } from './kept-scans.js'
import { MAX_BATCH_ITEMS, MAX_READ, MAX_TRIMMED, createReadSize } from './read-size.js'
import { atMost, expiryCommand, justBelow, windowStart } from './retention.js'
import { seekMembers } from './seek.js'
import { membersAt } from './values-arrivals.js'
import { createValuesBatch } from './values-batch.js'
import { MAX_SCAN, beginScan, versionsOf } from './values-scan.js'

/** versions read first to find one id */
const LOOKUP_SIZE = 100

/** @typedef {import('./index.js').Item} Item */
/** @typedef {import('./index.js').Layout} Layout */
/** @typedef {import('./values-scan.js').Version} Version */

/** @type {ReturnType<typeof createKeptScans<import('./values-scan.js').State>>} */
const scans = createKeptScans()

/** @type {Layout} */
const layout = {
  name: 'values',
  format: 1,
  arrivals,
  describe: () => ({
    versions: 'many',
    late: 'newest',
    counted: 'by order',
    trims: 'versions',
    withoutView: { latest: 'newest', get: 'newest', count: 'estimate' },
    maxScan: MAX_SCAN,
    maxBatchItems: MAX_BATCH_ITEMS,
    maxPage: MAX_READ,
    encodings: { values: 'skiplist' }
  }),
  createBatch: createValuesBatch,

  async append (connection, batch) {
    await sendWith(connection, batch.encoded(), batch.log)
    return { late: 0 }
  },

  async latest (connection, key, { limit, after, sinceMs, retention, nowMs, size, scan: before }) {
    const name = key('values')
    const minTs = Math.max(sinceMs ?? 0, windowStart(retention, nowMs))
    const wanted = Math.min(limit, MAX_READ)
    const scan = beginScan(connection, name, { minTs, maxItems: retention.maxItems, size, state: scans.take(before, name), after })
    /** @type {Version[]} */
    const shown = []
    const isShown = (/** @type {Version} */ version) => !version.deleted && (after === null || compareOrder(version, after) < 0)
    let isMore = false
    while (shown.length < wanted && !scan.ended) {
      const ahead = new Set()
      for (const version of await scan.read(wanted - shown.length + 1)) {
        if (shown.length === wanted) {
          // belongs to the next page
          isMore ||= !version.deleted && !scan.knows(version.id) && !ahead.has(version.id.toString('latin1'))
          ahead.add(version.id.toString('latin1'))
        } else if (scan.look(version) && isShown(version)) shown.push(version)
      }
    }
    const all = scan.arrived.length > 0 ? [...shown, ...scan.arrived.filter(isShown)].sort((a, b) => compareOrder(b, a)) : shown
    const page = all.slice(0, wanted)
    const last = page.length === wanted ? page[wanted - 1] : undefined
    const next = last && (isMore || !scan.ended || all.length > wanted) ? placeOf(last) : null
    return { items: page.map(itemOf), next, scan: scans.keep(name, scan.state) }
  },

  async get (connection, key, wantedIds, { retention, nowMs }) {
    const scan = beginScan(connection, key('values'), { minTs: windowStart(retention, nowMs), maxItems: retention.maxItems })
    /** @type {Map<string, Item | null>} */
    const found = new Map()
    const missing = new Set(wantedIds.map((id) => id.toString('latin1')))
    while (missing.size > 0 && !scan.ended) {
      for (const version of await scan.read(Math.max(missing.size, LOOKUP_SIZE))) {
        if (missing.size === 0) break
        const id = version.id.toString('latin1')
        if (scan.look(version) && missing.delete(id)) found.set(id, version.deleted ? null : itemOf(version))
      }
    }
    return wantedIds.map((id) => found.get(id.toString('latin1')) ?? null)
  },

  async count (connection, key, { retention, nowMs }) {
    const count = await connection.send('ZCOUNT', key('values'), windowStart(retention, nowMs), '+inf')
    return { count: atMost(count, retention), exact: false }
  },

  async piece (connection, key, { before, minTs, limit, size }) {
    const name = key('values')
    const wanted = size.of(limit)
    const place = before && { score: scoreOf(before.ts, before.seq), bytes: memberBound(before) }
    const flat = place
      ? await seekMembers(connection, name, place, 'older', wanted, 1)
      : await connection.send('ZREVRANGEBYSCORE', name, '+inf', minTs, 'WITHSCORES', 'LIMIT', 0, wanted)
    const versions = versionsOf(flat, size)
    const inside = versions.filter(({ ts }) => ts >= minTs)
    return { versions: inside, next: inside.length < wanted ? null : placeOf(inside[inside.length - 1]) }
  },

  versionsAt: (connection, key, wanted, size) => membersAt(connection, key('values'), wanted, size),

  floor: (connection, key, { maxItems }) => countFloor(connection, key('values'), maxItems),

  async excludedMs (connection, key, { maxItems }) {
    const [version] = versionsOf(await connection.send('ZREVRANGE', key('values'), maxItems, maxItems, 'WITHSCORES'), createReadSize())
    return version?.ts ?? null
  },

  async trim (connection, key, { retention, nowMs }) {
    await trimArrivals(connection, key, { retention, nowMs })
    const dead = await connection.runScript('trim-values', [key('values')],
      [windowStart(retention, nowMs), retention.maxItems, MAX_TRIMMED])
    return { removed: Math.min(dead, MAX_TRIMMED), more: dead > MAX_TRIMMED }
  },

  async extend (connection, key, expiry) {
    await connection.sendAll(['values', arrivals.part].map((part) => expiryCommand(key(part), expiry)))
  }
}

export const values = Object.freeze(layout)

/** @param {Version} version @returns {Item} */
const itemOf = ({ id, ts, seq, value }) => ({ id, ts, seq, value })

/** @param {import('./values-scan.js').VersionPlace} place */
const placeOf = ({ id, ts, seq, stamp }) => ({ id, ts, seq, stamp })

/**
 * @param {any} connection
 * @param {string} name
 * @param {number} maxItems
 * @returns {Promise<import('./values-scan.js').VersionPlace | null>} the newest version that is not live
 */
async function countFloor (connection, name, maxItems) {
  if (maxItems === 0) return null
  const [oldest, floor] =
    versionsOf(await connection.send('ZREVRANGE', name, maxItems - 1, maxItems, 'WITHSCORES'), createReadSize())
  return floor ?? (oldest ? justBelow(oldest) : null)
}
