/** A counted load of replies: pages of the newest items, read from a node one by one, as a reader without a view does. */
import { openFeed, openReader } from '../../src/index.js'
import { FreshetError } from '../errors.js'
import { createSource } from '../loads/source.js'

const FEED = 'lab'
const DEADLINE_MS = 60_000

/**
 * @param {{ layout: string, ids: number, valueBytes: number, limit: number }} of
 * @returns {import('./count.js').Load['open']}
 */
export const openPages = ({ layout, ids, valueBytes, limit }) => async ({ primaryUrl, replicaUrls }) => {
  const common = { redisUrl: primaryUrl, replicaUrl: replicaUrls, deadlineMs: DEADLINE_MS }
  const feed = await openFeed(FEED, { ...common, layout: /** @type {any} */ (layout), maxItems: 0, windowMs: 600_000 })
  const source = createSource({ ids, valueBytes, valueChange: 'always', writers: 1 }, 0)
  const nowMs = Date.now()
  for (let i = 0; i < ids; i++) feed.append(source.next(nowMs + i / 100))
  await feed.flush({ deadlineMs: DEADLINE_MS })
  await feed.close()
  const reader = await openReader({ ...common, views: 'none', readFrom: 'replica' })
  const reading = reader.feed(FEED)
  // a replica gets the stream only a while after it has synchronised
  while ((await reading.latest(limit)).items.length < limit) await new Promise((resolve) => { setImmediate(resolve) })
  return {
    async run (batches) {
      for (let batch = 0; batch < batches; batch++) {
        const { items } = await reading.latest(limit)
        if (items.length !== limit) throw new FreshetError('COUNT_FAILED', `a page of ${limit} had ${items.length} items`)
      }
    },
    close: () => reader.close()
  }
}
