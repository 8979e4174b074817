/**
 * The ceiling of writing (L11): the same values without order, ids or keys of their own, concatenated in one SET for each batch.
 *
 *     blob:<writer>:<from>-<to>     the values of the writer's ids from .. to - 1
 *
 * Batches end at multiples of `batchItems` ids, so a key is overwritten when its ids come round again. Values always change:
 * only their numbers show what was written last. A batch has 1,000 items; below 10,000 items a second, the items of a tenth of
 * a second, unlike the reference, because plans of any rate need a ceiling.
 */
import { expiryMs, onlyKey } from '../../src/feeds/index.js'
import { argument, command, Wire } from '../../src/layouts/index.js'
import { openConnection } from '../../src/store/index.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'
import { createSource, needIdentifying } from './source.js'

const HEAD_BUDGET = 512

/** @type {import('./index.js').Load['open']} */
export async function openBlob (parts) {
  const { settings, redisUrl, index } = parts
  const { valueBytes, batchItems } = settings
  needIdentifying(settings)
  const key = onlyKey(settings.keyPrefix, settings.feed)
  const ttlMs = expiryMs(settings, settings.maxFutureMs)
  const source = createSource(settings, index)
  const connection = await openConnection(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })
  /** @type {Wire[]} */
  const spare = []

  return driveBatches(parts, {
    source,
    room: () => Math.min(batchItems - source.nextAt % batchItems, source.ids.length - source.nextAt),
    async send (count, next) {
      const wire = spare.pop() ?? new Wire(HEAD_BUDGET + batchItems * valueBytes)
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
