/**
 * What a straightforward handler does: it asks a replica for the newest ids, then for their values, and makes the answer.
 * It does so on each request; nothing is kept, shared or prepared. Its answers have the bytes of the reader's.
 *
 * What the reader does and this does not (L12): it reads the definition, knows every layout, leaves out what is older
 * than the window or beyond maxItems, asks for one item more to know whether there is a next page, pairs a value with the
 * time that is stored beside it, checks the query, bounds the bytes and the number of answers in progress, keeps the last
 * answer for the time when servers are gone, leaves a replica that lags and asks another when one is lost, says how old
 * its answer is, and counts requests. Like the reader, this takes turns with the replicas, over a connection to each.
 */
import { partitionKey } from '../../feeds/keys.js'
import { encodeCursor } from '../../item/cursor.js'
import { unscore } from '../../item/order.js'
import { RECORD_HEAD_BYTES } from '../../item/record.js'

/** @typedef {import('../../store/connection.js').Connection} Connection */

/**
 * @param {{ connections: Connection[], keyPrefix: string, feed: string }} parts a feed of layout ids in one partition
 * @returns {(limit: number) => Promise<string>} the newest items as JSON
 */
export function createHandler ({ connections, keyPrefix, feed }) {
  const key = partitionKey(keyPrefix, feed, 0)
  let turn = 0

  return async (limit) => {
    const connection = connections[turn++ % connections.length]
    const asOf = Date.now()
    /** @type {Buffer[]} id, score, id, score, ... */
    const flat = await connection.send('ZREVRANGE', key('ids'), 0, limit - 1, 'WITHSCORES')
    const places = Array.from({ length: flat.length / 2 }, (_, i) => ({ id: flat[2 * i], ...unscore(Number(flat[2 * i + 1])) }))
    /** @type {(Buffer | null)[]} */
    const records = places.length ? await connection.send('MGET', ...places.map(({ id }) => `${key('item:')}${id}`)) : []
    const items = places.flatMap(({ id, ts }, i) => {
      const record = records[i]
      return record === null ? [] : [{ id: id.toString(), ts, value: record.toString('base64', RECORD_HEAD_BYTES) }]
    })
    return JSON.stringify({ feed, asOf, items, next: places.length === limit ? encodeCursor(feed, places[limit - 1]) : null })
  }
}
