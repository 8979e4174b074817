/**
 * Layout `values`: one sorted set that holds every version of the items themselves.
 *
 *     fr:{feed:p}:values      sorted set   <id> 0 <stamp> <flags> <value> -> ts + seq / 4096      (item/record.js)
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
import { compareOrder, MEMBER_HEAD_BYTES, memberBound, scoreOf, writeMemberHead } from '../item/index.js'
import { arrivals, createArrivals, sendWith, trimArrivals } from './arrivals.js'
import { createReadSize, MAX_BATCH_ITEMS, MAX_READ, MAX_TRIMMED } from '../read-size.js'
import { createKeptScans } from './kept-scans.js'
import { seekMembers } from './seek.js'
import { atMost, expiryCommand, justBelow, windowStart } from './retention.js'
import { command, createScoreText, NOTHING, wholeCommand, Wire } from './wire.js'
import { beginScan, MAX_SCAN, membersAt, versionsOf } from './values-scan.js'

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
    const count = Math.min(limit, MAX_READ)
    const scan = beginScan(connection, name, { minTs, maxItems: retention.maxItems, size, state: scans.take(before, name), after })
    /** @type {Version[]} */
    const shown = []
    const isShown = (/** @type {Version} */ version) => !version.deleted && (after === null || compareOrder(version, after) < 0)
    let isMore = false
    while (shown.length < count && !scan.ended) {
      const ahead = new Set()
      for (const version of await scan.read(count - shown.length + 1)) {
        if (shown.length === count) {
          // belongs to the next page
          isMore ||= !version.deleted && !scan.knows(version.id) && !ahead.has(version.id.toString('latin1'))
          ahead.add(version.id.toString('latin1'))
        } else if (scan.look(version) && isShown(version)) shown.push(version)
      }
    }
    const all = scan.arrived.length > 0 ? [...shown, ...scan.arrived.filter(isShown)].sort((a, b) => compareOrder(b, a)) : shown
    const page = all.slice(0, count)
    const last = page.length === count ? page[count - 1] : undefined
    const next = last && (isMore || !scan.ended || all.length > count) ? versionKeyOf(last) : null
    return { items: page.map(itemOf), next, scan: scans.keep(name, scan.state) }
  },

  async get (connection, key, ids, { retention, nowMs }) {
    const scan = beginScan(connection, key('values'), { minTs: windowStart(retention, nowMs), maxItems: retention.maxItems })
    /** @type {Map<string, Item | null>} */
    const items = new Map()
    const missing = new Set(ids.map((id) => id.toString('latin1')))
    while (missing.size > 0 && !scan.ended) {
      for (const version of await scan.read(Math.max(missing.size, LOOKUP_SIZE))) {
        if (missing.size === 0) break
        const id = version.id.toString('latin1')
        if (scan.look(version) && missing.delete(id)) items.set(id, version.deleted ? null : itemOf(version))
      }
    }
    return ids.map((id) => items.get(id.toString('latin1')) ?? null)
  },

  async count (connection, key, { retention, nowMs }) {
    const count = await connection.send('ZCOUNT', key('values'), windowStart(retention, nowMs), '+inf')
    return { count: atMost(count, retention), exact: false }
  },

  async piece (connection, key, { before, minTs, limit, size }) {
    const name = key('values')
    const count = size.of(limit)
    const bound = before && { score: scoreOf(before.ts, before.seq), bytes: memberBound(before) }
    const flat = bound
      ? await seekMembers(connection, name, bound, 'older', count, 1)
      : await connection.send('ZREVRANGEBYSCORE', name, '+inf', minTs, 'WITHSCORES', 'LIMIT', 0, count)
    const versions = versionsOf(flat, size)
    const inside = versions.filter(({ ts }) => ts >= minTs)
    return { versions: inside, next: inside.length < count ? null : versionKeyOf(inside[inside.length - 1]) }
  },

  versionsAt: (connection, key, arrivals, size) => membersAt(connection, key('values'), arrivals, size),

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

/** @param {import('./values-scan.js').VersionKey} version */
const versionKeyOf = ({ id, ts, seq, stamp }) => ({ id, ts, seq, stamp })

/**
 * @param {any} connection
 * @param {string} name
 * @param {number} maxItems
 * @returns {Promise<import('./values-scan.js').VersionKey | null>} the newest version that is not live
 */
async function countFloor (connection, name, maxItems) {
  if (maxItems === 0) return null
  const [oldest, floor] =
    versionsOf(await connection.send('ZREVRANGE', name, maxItems - 1, maxItems, 'WITHSCORES'), createReadSize())
  return floor ?? (oldest ? justBelow(oldest) : null)
}

/**
 * A batch of layout `values` on the wire:
 *
 *     MULTI
 *     ZADD values  score <member> ...             item/record.js
 *     PEXPIRE values ttl                          once a second, if the feed has an age limit
 *     XADD arrivals ...                           arrivals.js
 *     EXEC
 *
 * Items are encoded when they are added, with the time of the append. A batch that is sent again has the same members, so it adds none
 * twice.
 */

/** ZADD with the longest key takes 160 bytes */
const HEAD_BUDGET = 256
/** score, lengths and line ends */
const ITEM_BUDGET = 96

/** Microseconds, unique in the process and increasing. One clock reading per batch; nextStamp (log-origin.js) would take one per item. */
let lastStamp = 0

/** @type {import('./index.js').Layout['createBatch']} */
function createValuesBatch ({ key, ttlMs, clock = Date.now, origin }) {
  const expire = ttlMs > 0 ? wholeCommand('PEXPIRE', key('values'), ttlMs) : NOTHING
  const members = new Wire(64 * 1024)
  const writeScore = createScoreText()
  const log = createArrivals({ key, ttlMs, clock, origin })
  let count = 0
  /** of the last member; -1 = not encoded yet */
  let end = -1
  members.length = HEAD_BUDGET

  /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
  function encode (id, ts, seq, value, deleted) {
    if (count === 0) lastStamp = Math.max(lastStamp, Math.floor(clock() * 1000))
    members.reserve(id.length + value.length + ITEM_BUDGET)
    writeScore(members, ts, seq)
    members.bulkHead(id.length + MEMBER_HEAD_BYTES + value.length)
    members.short(id)
    members.length = writeMemberHead(members.bytes, members.length, ++lastStamp, deleted)
    members.long(value)
    members.end()
    log.add(id, ts, seq, deleted)
    count++
  }

  return {
    get count () { return count },
    get bytes () { return members.length + log.bytes },
    log,
    maxItems: MAX_BATCH_ITEMS,
    add: (id, ts, seq, value) => encode(id, ts, seq, value, false),
    remove: (id, ts, seq) => encode(id, ts, seq, NOTHING, true),
    encoded () {
      // again when it is sent again
      if (end < 0) end = members.length
      members.length = end
      const { before, after, replies, isExpiring } = log.around()
      const head = Buffer.concat([before, command(2 + 2 * count, 'ZADD', key('values'))])
      head.copy(members.bytes, HEAD_BUDGET - head.length)
      for (const part of [isExpiring ? expire : NOTHING, ...after]) {
        members.reserve(part.length)
        members.long(part)
      }
      return {
        bytes: members.bytes.subarray(HEAD_BUDGET - head.length, members.length),
        replies: (isExpiring ? 2 : 1) + replies
      }
    },
    reset () {
      count = 0
      end = -1
      members.length = HEAD_BUDGET
      log.reset()
    }
  }
}
