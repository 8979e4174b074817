/**
 * Layout `values`: one sorted set that holds the items themselves, every version of them.
 *
 *     fr:{feed:p}:values      sorted set   <id> 0 <stamp> <flags> <value> -> ts + seq / 4096      (item/member.js)
 *
 * One command stores a batch and one brings a page, and there are no keys that expire singly. The price is paid by
 * questions: nothing leads from an id to its newest version, so an answer is found by walking from the newest member
 * down (values-walk.js), and only so deep. A view (src/view) has no such limit.
 *
 * The newest version of an id counts, however late an older one arrives; of equal ones the later append. A deletion is a
 * version too.
 *
 * Retention: versions older than the window are not live, nor those beyond rank maxItems, superseded ones and deletions
 * counted. `trim` removes them from the old end. The key as a whole expires when nobody writes any more.
 */
import { compareVersions, memberBound } from '../item/member.js'
import { compareOrder, scoreOf } from '../item/order.js'
import { membersBeside } from './beside.js'
import { MAX_BATCH_ITEMS, MAX_PIECE, PIECE_BYTES, TRIM_PIECE, createPieceSize } from './pieces.js'
import { createValuesBatch } from './values-batch.js'
import { MAX_WALK, beginWalk, versionsOf } from './values-walk.js'

/** how many versions are looked at first for one id: nobody knows where it is */
const LOOKUP_PIECE = 100

/** @typedef {import('./index.js').Item} Item */
/** @typedef {import('./index.js').Layout} Layout */
/** @typedef {import('./values-walk.js').Version} Version */

/** @type {WeakMap<object, { name: string, state: import('./values-walk.js').State }>} of pages that may be gone on from, once */
const walks = new WeakMap()

/** @type {Layout} */
const layout = {
  name: 'values',
  format: 1,
  describe: () => ({
    versions: 'many',
    late: 'newest',
    deletionsInTail: true,
    equalInTail: true,
    tail: 'time',
    counted: 'by order',
    trims: 'versions',
    askedPerRequest: { latest: 'newest', get: 'newest', count: 'estimate' },
    maxWalk: MAX_WALK,
    maxBatchItems: MAX_BATCH_ITEMS,
    maxPage: MAX_PIECE,
    encodings: { values: 'skiplist' }
  }),
  createBatch: createValuesBatch,

  async append (connection, batch) {
    await connection.sendEncoded(batch.encoded())
    return { late: 0 }
  },

  async latest (connection, key, { limit, after, sinceMs, retention, nowMs, walk: before }) {
    const name = key('values')
    const minTs = Math.max(sinceMs ?? 0, windowStart(retention, nowMs))
    const wanted = Math.min(limit, MAX_PIECE)
    const walk = beginWalk(connection, name, { minTs, maxItems: retention.maxItems, state: taken(before, name), after })
    /** @type {Item[]} */
    const items = []
    /** @type {Version | null} the last one shown */
    let last = null
    let isMore = false
    while (items.length < wanted && !walk.ended) {
      const ahead = new Set()
      for (const version of await walk.read(wanted - items.length + 1)) {
        if (items.length === wanted) {
          // not looked at: it belongs to the next page
          isMore ||= !version.deleted && !walk.knows(version.id) && !ahead.has(version.id.toString('latin1'))
          ahead.add(version.id.toString('latin1'))
        } else if (walk.look(version) && !version.deleted && (after === null || compareOrder(version, after) < 0)) {
          items.push(itemOf(version))
          last = version
        }
      }
    }
    const next = last && items.length === wanted && (isMore || !walk.ended) ? placeOf(last) : null
    return { items, next, walk: kept(name, walk.state) }
  },

  async tail (connection, key, { after, sinceMs, limit, known, retention, nowMs, size = createPieceSize() }) {
    const name = key('values')
    const minTs = Math.max(sinceMs, windowStart(retention, nowMs))
    const looked = Math.min(limit, MAX_PIECE)
    const asking = countFloor(connection, name, retention.maxItems)
    asking.catch(() => {})
    /** @type {Version[]} */
    const versions = []
    let place = after && after.ts >= minTs ? after : null
    let ended = false
    for (let bytes = 0; versions.length < looked && bytes < PIECE_BYTES && !ended;) {
      const asked = size.of(looked - versions.length)
      const piece = versionsOf(place ? await newerThan(connection, name, place, asked) : await oldestFrom(connection, name, minTs, asked), size)
      for (const { value } of piece) bytes += value.length
      versions.push(...piece)
      place = versions.at(-1) ?? null
      ended = piece.length < asked
    }
    const floor = await asking
    const shown = versions.filter((version) => (floor === null || compareVersions(version, floor) > 0) && !known(version))
    return { items: shown.map((version) => ({ ...itemOf(version), stamp: version.stamp, deleted: version.deleted })), next: ended || !place ? null : placeOf(place) }
  },

  async get (connection, key, wantedIds, { retention, nowMs }) {
    const walk = beginWalk(connection, key('values'), { minTs: windowStart(retention, nowMs), maxItems: retention.maxItems })
    /** @type {Map<string, Item | null>} */
    const found = new Map()
    const missing = new Set(wantedIds.map((id) => id.toString('latin1')))
    while (missing.size > 0 && !walk.ended) {
      for (const version of await walk.read(Math.max(missing.size, LOOKUP_PIECE))) {
        if (missing.size === 0) break
        const id = version.id.toString('latin1')
        if (walk.look(version) && missing.delete(id)) found.set(id, version.deleted ? null : itemOf(version))
      }
    }
    return wantedIds.map((id) => found.get(id.toString('latin1')) ?? null)
  },

  async count (connection, key, { retention, nowMs }) {
    const count = await connection.send('ZCOUNT', key('values'), windowStart(retention, nowMs), '+inf')
    return { count: retention.maxItems ? Math.min(count, retention.maxItems) : count, exact: false }
  },

  floor: (connection, key, { maxItems }) => countFloor(connection, key('values'), maxItems),

  async trim (connection, key, { retention, nowMs }) {
    const dead = await connection.runScript('trim-values', [key('values')], [windowStart(retention, nowMs), retention.maxItems, TRIM_PIECE])
    return { removed: Math.min(dead, TRIM_PIECE), more: dead > TRIM_PIECE }
  },

  async extend (connection, key, { ttlMs, condition }) {
    if (ttlMs) await connection.send('PEXPIRE', key('values'), ttlMs, condition)
    else await connection.send('PERSIST', key('values'))
  }
}

export const values = Object.freeze(layout)

/** @param {import('./index.js').Retention} retention @param {number} nowMs */
const windowStart = ({ windowMs }, nowMs) => windowMs ? nowMs - windowMs : 0

/** @param {Version} version @returns {Item} */
const itemOf = ({ id, ts, seq, value }) => ({ id, ts, seq, value })

/** @param {import('./values-walk.js').VersionPlace} place */
const placeOf = ({ id, ts, seq, stamp }) => ({ id, ts, seq, stamp })

/** @param {string} name @param {import('./values-walk.js').State} state */
function kept (name, state) {
  const walk = Object.freeze({})
  walks.set(walk, { name, state })
  return walk
}

/**
 * A page that fails leaves its walk half gone, so whoever asks again begins anew.
 * @param {any} walk @param {string} name
 */
function taken (walk, name) {
  const before = walk ? walks.get(walk) : undefined
  if (!before || before.name !== name) return null
  walks.delete(walk)
  return before.state
}

/** @param {any} connection @param {string} name @param {number} maxItems the newest version that is not live @returns {Promise<Version | null>} */
async function countFloor (connection, name, maxItems) {
  if (maxItems === 0) return null
  return versionsOf(await connection.send('ZREVRANGE', name, maxItems, maxItems, 'WITHSCORES'), createPieceSize())[0] ?? null
}

/** @param {any} connection @param {string} name @param {number} minTs @param {number} wanted @returns {Promise<Buffer[]>} */
const oldestFrom = (connection, name, minTs, wanted) => connection.send('ZRANGEBYSCORE', name, minTs, '+inf', 'WITHSCORES', 'LIMIT', 0, wanted)

/** @param {any} connection @param {string} name @param {import('./values-walk.js').VersionPlace} place @param {number} wanted @returns {Promise<Buffer[]>} */
const newerThan = (connection, name, place, wanted) =>
  membersBeside(connection, name, { score: scoreOf(place.ts, place.seq), bytes: memberBound(place, 'behind') }, 'newer', wanted, 1)
