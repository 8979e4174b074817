/**
 * A structure that the layouts do not use, for experiment 009: a list of whole items, one version an element, newest first by arrival, and
 * without access by id. Bytes are encoded as those of the layouts (item/segment.js) and sent over the same connection, so that only the
 * server's work differs.
 *
 *     list            LPUSH list <item> ...; LTRIM list 0 maxItems-1
 *
 * The commands of a batch are pipelined without a transaction: only the first stores items.
 */
import { ITEM_HEAD_BYTES, writeItem } from '../../src/item/index.js'
import { onlyKey } from '../../src/feeds/index.js'
import { command, wholeCommand, Wire } from '../../src/layouts/index.js'
import { openConnection } from '../../src/store/index.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'

/** bytes of an argument's length and line ends */
const ARGUMENT_ROOM = 16
const ID_ROOM = 128

/** @type {import('./index.js').Load['open']} */
export async function openList (parts) {
  const { settings: { keyPrefix, feed, valueBytes, maxItems }, redisUrl } = parts
  const connection = await openConnection(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })
  const list = onlyKey(keyPrefix, feed)('list')
  const trim = maxItems > 0 ? [wholeCommand('LTRIM', list, 0, maxItems - 1)] : []
  const wire = new Wire(64 * 1024)
  const itemRoom = ARGUMENT_ROOM + ITEM_HEAD_BYTES + ID_ROOM + valueBytes
  return driveBatches(parts, {
    async send (count, next) {
      wire.reset()
      for (let i = 0; i < count; i++) {
        const { id, ts, seq, value } = next()
        wire.reserve(itemRoom)
        wire.bulkHead(ITEM_HEAD_BYTES + id.length + value.length)
        wire.length = writeItem(wire.bytes, wire.length, id, ts, seq, value, false)
        wire.end()
      }
      await connection.sendEncoded({
        bytes: Buffer.concat([command(2 + count, 'LPUSH', list), wire.written(), ...trim]), replies: 1 + trim.length
      })
      return count
    },
    close: () => connection.close()
  })
}
