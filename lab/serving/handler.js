/**
 * A straightforward handler: it reads the newest ids from a replica, then their values, and builds the response, on each
 * request and without any cache. Its responses have the bytes of the reader's. From a log it reads as many of the newest
 * entries as it needs and sends their last items in arrival order; for `values` it calls the layout, and knows the sizes of items from
 * the pages before.
 *
 * What the reader does and this does not (L12): it reads the definition, knows every layout, leaves out items older than the
 * window or beyond maxItems and late or deleted items of a log, requests one more item to know whether there is a next page,
 * pairs a value with the time stored beside it, validates the query, bounds bytes and concurrent responses, keeps the last
 * response for when servers are down, avoids replicas that lag or are lost, reports the age of its response, and counts
 * requests. Like the reader, it alternates between the replicas, with one connection to each.
 */
import { onlyKey } from '../../src/feeds/index.js'
import { encodeCursor, readMember, readRecord, RECORD_HEAD_BYTES, scoreOf, unscore } from '../../src/item/index.js'
import { createReadSize, entriesBefore, layoutOf } from '../../src/layouts/index.js'

/** @typedef {import('../../src/store/index.js').Connection} Connection */

/** items of one range command: larger ones block the server */
const PIECE = 1000
const NO_BOUNDS = Object.freeze({ windowMs: 0, maxItems: 0 })

/**
 * @param {{ connections: Connection[], keyPrefix: string, feed: string, layout: string, isRange?: boolean }} parts a feed in one
 *   partition; `isRange`: one range of its sorted set, of layout ids without values, of values with all versions
 * @returns {{ newest: (limit: number) => Promise<string>, everything: () => AsyncGenerator<string> }} the newest items as JSON;
 *   all of them as NDJSON, of layout ids
 */
export function createHandler ({ connections, keyPrefix, feed, layout, isRange = false }) {
  const key = onlyKey(keyPrefix, feed)
  let turn = 0
  const next = () => connections[turn++ % connections.length]
  const { log, latest } = layoutOf(layout)
  const size = createReadSize()
  const findPage = isRange ? pageOfRange : layout === 'ids' ? pageOfIds : log ? pageOfLog : pageOfLayout

  /**
   * @param {Connection} connection
   * @param {number} limit
   * @returns {Promise<{ lines: string[], last: import('../../src/item/index.js').OrderKey | null }>}
   */
  async function pageOfLayout (connection, limit) {
    const { items } = await latest(connection, key, { limit, after: null, sinceMs: null, retention: NO_BOUNDS, nowMs: Date.now(), size })
    return {
      lines: items.map(({ id, ts, value }) => lineOf(id, ts, value.toString('base64'))),
      last: items.length === limit ? items[limit - 1] : null
    }
  }

  /** @param {Connection} connection @param {number} limit */
  async function pageOfLog (connection, limit) {
    const { part, each } = /** @type {import('../../src/layouts/index.js').Log} */ (log)
    /** @type {string[]} */
    const lines = []
    const seen = new Set()
    /** @type {import('../../src/item/index.js').OrderKey | null} */
    let last = null
    /** @type {string | null} */
    let before = null
    for (let count = part === 'stream' ? limit : 1; lines.length < limit; count *= 2) {
      const entries = await entriesBefore(connection, key(part), { before, count })
      for (const { bytes, entryId } of entries) {
        before = entryId
        /** @type {[idAt: number, idEnd: number, ts: number, seq: number, valueAt: number, valueEnd: number][]} */
        const items = []
        each(bytes, (_, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => { items.push([idAt, idEnd, ts, seq, valueAt, valueEnd]) })
        for (let i = items.length - 1; i >= 0 && lines.length < limit; i--) {
          const [idAt, idEnd, ts, seq, valueAt, valueEnd] = items[i]
          const id = bytes.toString('utf8', idAt, idEnd)
          if (seen.has(id)) continue
          seen.add(id)
          last = { ts, seq, id: bytes.subarray(idAt, idEnd) }
          lines.push(JSON.stringify({ id, ts, value: bytes.toString('base64', valueAt, valueEnd) }))
        }
      }
      if (entries.length < count) break
    }
    return { lines, last: lines.length === limit ? last : null }
  }

  /** Of layout ids without values, of values with all versions. @param {Connection} connection @param {number} limit */
  async function pageOfRange (connection, limit) {
    const isOfIds = layout === 'ids'
    const places = (await rangeOf(connection, key(layout), limit)).map(({ member, ...place }) =>
      ({ ...place, ...(isOfIds ? { id: member, value: null } : readMember(member)) }))
    const lines = places.map(({ id, ts, value }) =>
      value === null ? JSON.stringify({ id: id.toString(), ts }) : lineOf(id, ts, value.toString('base64')))
    return { lines, last: places.length === limit ? places[limit - 1] : null }
  }

  /**
   * @param {Connection} connection @param {number} limit
   * @param {{ ofAll?: boolean, after?: import('../../src/item/index.js').OrderKey | null }} [options] `after`: only older items; `ofAll`:
   *   leave out items that were rewritten between the two commands, which were sent on an earlier page
   */
  async function pageOfIds (connection, limit, { ofAll = false, after = null } = {}) {
    const before = after ? `(${scoreOf(after.ts, after.seq)}` : '+inf'
    const places = (await rangeOf(connection, key('ids'), limit, before)).map(({ member: id, ...place }) => ({ id, ...place }))
    /** @type {(Buffer | null)[]} */
    const records = places.length ? await connection.send('MGET', ...places.map(({ id }) => `${key('item:')}${id}`)) : []
    const lines = places.flatMap(({ id, ts, seq }, i) => {
      const record = records[i]
      if (record === null) return []
      const now = ofAll ? readRecord(id, record) : { ts, seq }
      return now.ts === ts && now.seq === seq ? [lineOf(id, ts, record.toString('base64', RECORD_HEAD_BYTES))] : []
    })
    return { lines, last: places.length === limit ? places[limit - 1] : null }
  }

  return {
    async newest (limit) {
      const asOf = Date.now()
      const { lines, last } = await findPage(next(), limit)
      return `{"feed":${JSON.stringify(feed)},"asOf":${asOf},"items":[${lines.join()}],"next":` +
        `${JSON.stringify(last && encodeCursor(feed, last))}}`
    },

    async * everything () {
      const connection = next()
      /** @type {import('../../src/item/index.js').OrderKey | null} */
      let after = null
      do {
        const { lines, last } = await pageOfIds(connection, PIECE, { ofAll: true, after })
        if (lines.length) yield lines.join('\n') + '\n'
        after = last
      } while (after)
    }
  }
}

/**
 * The newest members of a sorted set.
 * @param {Connection} connection @param {string} name @param {number} limit @param {string} [before] score
 */
async function rangeOf (connection, name, limit, before = '+inf') {
  /** @type {Buffer[]} member, score, member, score, ... */
  const flat = await connection.send('ZREVRANGEBYSCORE', name, before, '-inf', 'WITHSCORES', 'LIMIT', 0, limit)
  return Array.from({ length: flat.length / 2 }, (_, i) => ({ member: flat[2 * i], ...unscore(Number(flat[2 * i + 1])) }))
}

/** @param {Buffer} id @param {number} ts @param {string} value base64 */
const lineOf = (id, ts, value) => JSON.stringify({ id: id.toString(), ts, value })
