/**
 * The ceiling of writing (L11): the same values without order, ids or keys of their own, one behind the other in one SET
 * per batch.
 *
 *     blob:<writer>:<from>-<to>     the values of the writer's ids from .. to - 1
 *
 * Batches end where a block of `batchItems` ids does, so a block is overwritten when its ids come round again. Values
 * always change: their numbers are the only witness of what was written last. A batch holds 1,000 items; below 10,000 items
 * a second those of a tenth of a second, unlike the reference, because a plan of any rate has a ceiling.
 */
import { FreshetError } from '../../errors.js'
import { expiryMs } from '../../feeds/extend.js'
import { partitionKey } from '../../feeds/keys.js'
import { Wire, argument, command } from '../../layouts/wire.js'
import { openConnection } from '../../store/connection.js'
import { NUMBERED_VALUE_BYTES, WHOLE_VALUE_BYTES } from '../../synthetic.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'
import { createSource } from './source.js'

const HEAD_ROOM = 512

/** The shortest values that can be told apart when they lie in a blob. @param {number} writers @returns {number} bytes */
export const leastBlobBytes = (writers) => writers > 1 ? WHOLE_VALUE_BYTES : NUMBERED_VALUE_BYTES

/** @type {import('./index.js').Load['open']} */
export async function openBlob (parts) {
  const { settings, redisUrl, index } = parts
  const { valueBytes, batchItems, writers } = settings
  const least = leastBlobBytes(writers)
  if (valueBytes < least) throw new FreshetError('LOAD_FAILED', `valueBytes ${valueBytes}: the values alone tell what was written, from ${least} bytes on`)
  const key = partitionKey(settings.keyPrefix, settings.feed, 0)
  const ttlMs = expiryMs(settings, settings.maxFutureMs)
  const source = createSource(settings, index)
  const connection = await openConnection(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })
  /** @type {Wire[]} */
  const spare = []

  return driveBatches(parts, {
    source,
    room: () => Math.min(batchItems - source.nextAt % batchItems, source.ids.length - source.nextAt),
    async send (count, next) {
      const wire = spare.pop() ?? new Wire(HEAD_ROOM + batchItems * valueBytes)
      const from = source.nextAt
      wire.reset()
      wire.long(command(ttlMs ? 5 : 3, 'SET', key(`blob:${index}:${from}-${from + count}`)))
      wire.bulkHead(count * valueBytes)
      for (let i = 0; i < count; i++) wire.long(next().value)
      wire.end()
      if (ttlMs) wire.long(Buffer.from(argument('PX') + argument(ttlMs)))
      await connection.sendEncoded({ bytes: wire.written(), replies: 1 })
      spare.push(wire)
      return count
    },
    close: () => connection.close()
  })
}
