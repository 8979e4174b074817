/**
 * Layout `ids`: a sorted set of ids by score, and one key per item.
 *
 *     fr:{feed:p}:ids         sorted set   id -> ts + seq / 4096
 *     fr:{feed:p}:item:<id>   string       8 bytes of order, then the value (item/record.js); expires
 *     fr:{feed:p}:deletions   string       exists while an id may have a tombstone (late: newest)
 *     fr:{feed:p}:arrivals    stream       which versions came, deletions included (arrivals.js)
 *
 * Each id has one version: the newest, or with `late: overwrite` the last written. A page reads members from the set, then their
 * keys. An id may be written between the two reads, so a page keeps only versions within its own bounds: an id that moved up
 * leaves the page, one that moved down comes with a later page.
 *
 * A deleted id leaves the set; its key holds a tombstone for as long as an item would stay, so that older versions that arrive
 * afterwards are dropped.
 *
 * Retention: items older than the window are not live, trimmed or not; with maxItems the floor is the first member beyond
 * that rank. `trim` removes set members and keys.
 */
import { compareOrder, newestFirst, readRecord, scoreOf, unscore } from '../item/index.js'
import { arrivals, trimArrivals } from './arrivals.js'
import { appendIds, isAlone } from './ids-append.js'
import { TOMBSTONE_MS, createIdsBatch } from './ids-batch.js'
import { MAX_BATCH_ITEMS, MAX_READ, MAX_TRIMMED } from '../read-size.js'
import { seekMembers } from './seek.js'
import { atMost, expiryCommand, justBelow, windowStart } from './retention.js'

/** @typedef {import('../item/index.js').Place} Place */
/** @typedef {import('./index.js').Layout} Layout */

/** @type {Layout} */
const layout = {
  name: 'ids',
  format: 1,
  arrivals,
  describe: () => ({
    versions: 'one',
    late: 'by feed',
    counted: 'by order',
    trims: 'versions',
    withoutView: { latest: 'exact', get: 'exact', count: 'exact' },
    maxScan: Infinity,
    maxBatchItems: MAX_BATCH_ITEMS,
    maxPage: MAX_READ,
    encodings: { ids: 'skiplist' }
  }),
  createBatch: createIdsBatch,
  append: appendIds,
  isAlone,

  async latest (connection, key, { limit, after, sinceMs, retention, nowMs }) {
    const minTs = Math.max(sinceMs ?? 0, windowStart(retention, nowMs))
    const count = Math.min(limit, MAX_READ)
    // one extra member shows whether there are more
    const [members, floor] = await Promise.all([
      after ? olderThan(connection, key, after, count + 1) : newestMembers(connection, key, minTs, count + 1),
      countFloor(connection, key, retention.maxItems)
    ])
    const inside = members.filter((place) => place.ts >= minTs && isAbove(place, floor))
    const last = inside.length > count ? inside[count - 1] : null
    inside.length = Math.min(inside.length, count)
    const items = (await itemsOf(connection, key, inside.map((place) => place.id)))
      .filter((item) => item !== null)
      .filter((item) => item.ts >= minTs && isAbove(item, floor) &&
        (!after || compareOrder(item, after) < 0) && (!last || compareOrder(item, last) >= 0))
    return { items: items.sort(newestFirst), next: last }
  },

  async get (connection, key, ids, { retention, nowMs }) {
    const minTs = windowStart(retention, nowMs)
    const [items, floor] = await Promise.all([
      itemsOf(connection, key, ids),
      countFloor(connection, key, retention.maxItems)
    ])
    return items.map((item) => item && item.ts >= minTs && isAbove(item, floor) ? item : null)
  },

  async count (connection, key, { retention, nowMs }) {
    const count = await connection.send('ZCOUNT', key('ids'), windowStart(retention, nowMs), '+inf')
    return { count: atMost(count, retention), exact: true }
  },

  async piece (connection, key, { before, minTs, limit, size }) {
    const count = size.of(limit)
    const members = before
      ? await olderThan(connection, key, before, count)
      : await newestMembers(connection, key, minTs, count)
    const inside = members.filter(({ ts }) => ts >= minTs)
    const records = await recordsOf(connection, key, inside.map(({ id }) => id))
    size.learn(records, ({ value }) => value.length)
    const last = inside[inside.length - 1]
    return { versions: records.filter((record) => record !== null).map(versionOf), next: inside.length < count ? null : last }
  },

  async versionsAt (connection, key, arrivals, size) {
    /** @type {(import('./index.js').StoredVersion | null)[]} */
    const versions = []
    while (versions.length < arrivals.length) {
      const part = arrivals.slice(versions.length, versions.length + size.of(MAX_READ))
      const records = await recordsOf(connection, key, part.map(({ id }) => id))
      size.learn(records, ({ value }) => value.length)
      for (const record of records) versions.push(record && versionOf(record))
    }
    return versions
  },

  floor: (connection, key, { maxItems }) => countFloor(connection, key, maxItems),

  async excludedMs (connection, key, { maxItems }) {
    const [place] = placesOf(await connection.send('ZREVRANGE', key('ids'), maxItems, maxItems, 'WITHSCORES'))
    return place?.ts ?? null
  },

  async trim (connection, key, { retention, nowMs }) {
    const { maxItems } = retention
    const minTs = windowStart(retention, nowMs)
    await trimArrivals(connection, key, { retention, nowMs })
    const [aged, all, oldest] = await connection.sendAll([
      ['ZCOUNT', key('ids'), '-inf', `(${minTs}`], ['ZCARD', key('ids')], ['ZRANGE', key('ids'), 0, MAX_TRIMMED - 1]
    ])
    const dead = oldest.slice(0, Math.max(aged, maxItems ? all - maxItems : 0))
    if (dead.length === 0) return { removed: 0, more: false }
    const removed = await connection.runScript('trim-ids', [key('ids'), ...itemKeys(key, dead)], [minTs, maxItems, ...dead])
    return { removed, more: dead.length === MAX_TRIMMED }
  },

  async extend (connection, key, expiry) {
    await connection.sendAll([expiryCommand(key('ids'), expiry), expiryCommand(key(arrivals.part), expiry)])
    /** @type {Place | null} */
    let place = null
    do {
      /** @type {Place[]} */
      const members = place
        ? await olderThan(connection, key, place, MAX_READ)
        : await newestMembers(connection, key, 0, MAX_READ)
      if (members.length) await connection.sendAll(itemKeys(key, members.map(({ id }) => id)).map((name) => expiryCommand(name, expiry)))
      place = members.length === MAX_READ ? members[MAX_READ - 1] : null
    } while (place)
    if (expiry.condition === 'GT') await extendTombstones(connection, key, expiry.ttlMs || TOMBSTONE_MS)
  }
}

export const ids = Object.freeze(layout)

/** @param {(part: string) => string} key @param {Buffer[]} ids @returns {Buffer[]} */
function itemKeys (key, ids) {
  const beginning = Buffer.from(key('item:'))
  return ids.map((id) => Buffer.concat([beginning, id]))
}

/**
 * No set contains the tombstones, so this scans all keys of the server; it is rare. Items already have their new expiry and
 * stay as they are.
 * @param {any} connection @param {(part: string) => string} key @param {number} ttlMs
 */
async function extendTombstones (connection, key, ttlMs) {
  await connection.send('PEXPIRE', key('deletions'), ttlMs, 'GT')
  let cursor = '0'
  do {
    const [next, names] = await connection.send('SCAN', cursor, 'MATCH', `${key('item:')}*`, 'COUNT', MAX_READ)
    if (names.length) await connection.sendAll(names.map((/** @type {Buffer} */ name) => ['PEXPIRE', name, ttlMs, 'GT']))
    cursor = String(next)
  } while (cursor !== '0')
}

/** @param {Place} place @param {Place | null} floor the newest place that is not live */
const isAbove = (place, floor) => floor === null || compareOrder(place, floor) > 0

/** @param {Buffer[]} flat member, score, member, score, ... @returns {Place[]} */
function placesOf (flat) {
  const places = []
  for (let i = 0; i < flat.length; i += 2) places.push({ id: flat[i], ...unscore(Number(flat[i + 1])) })
  return places
}

/** @param {any} connection @param {(part: string) => string} key @param {number} minTs @param {number} count */
const newestMembers = async (connection, key, minTs, count) =>
  placesOf(await connection.send('ZREVRANGEBYSCORE', key('ids'), '+inf', minTs, 'WITHSCORES', 'LIMIT', 0, count))

/**
 * @param {any} connection
 * @param {(part: string) => string} key
 * @param {Place} place
 * @param {number} count
 */
const olderThan = async (connection, key, { ts, seq, id }, count) =>
  placesOf(await seekMembers(connection, key('ids'), { score: scoreOf(ts, seq), bytes: id }, 'older', count))

/** @param {any} connection @param {(part: string) => string} key @param {number} maxItems @returns {Promise<Place | null>} */
async function countFloor (connection, key, maxItems) {
  if (maxItems === 0) return null
  const [oldest, floor] = placesOf(await connection.send('ZREVRANGE', key('ids'), maxItems - 1, maxItems, 'WITHSCORES'))
  return floor ?? (oldest ? justBelow(oldest) : null)
}

/**
 * @param {any} connection @param {(part: string) => string} key @param {Buffer[]} ids
 * @returns {Promise<(ReturnType<typeof readRecord> | null)[]>}
 */
async function recordsOf (connection, key, ids) {
  if (ids.length === 0) return []
  const records = await connection.send('MGET', ...itemKeys(key, ids))
  return ids.map((id, i) => records[i] === null ? null : readRecord(id, records[i]))
}

/**
 * @param {any} connection @param {(part: string) => string} key @param {Buffer[]} ids
 * @returns {Promise<(import('./index.js').Item | null)[]>} null = deleted, or nothing
 */
const itemsOf = async (connection, key, ids) => (await recordsOf(connection, key, ids)).map((record) =>
  record === null || record.deleted ? null : { id: record.id, ts: record.ts, seq: record.seq, value: record.value })

/** @param {ReturnType<typeof readRecord>} record @returns {import('./index.js').StoredVersion} */
const versionOf = (record) => ({ ...record, stamp: 0 })
