/** Counted loads of replies: pages of the newest items, read from a replica one by one. */
import { openFeed, openReader } from '../../src/index.js'
import { openConnection } from '../../src/store/index.js'
import { FreshetError } from '../errors.js'
import { createSource } from '../loads/source.js'
import { createHandler } from '../serving/handler.js'

const FEED = 'lab'
/** the default of readers */
const PREFIX = 'fr:'
const DEADLINE_MS = 60_000
const WINDOW_MS = 600_000

/**
 * @typedef {{ layout: string, ids: number, valueBytes: number, batchItems: number, limit: number }} Pages `batchItems` as written
 * @typedef {{ primaryUrl: string, replicaUrls: string[] }} Servers
 * @typedef {{ read: () => Promise<number>, close: () => unknown }} Reading `read`: a page, the number of its items
 * @typedef {Pick<import('./count.js').Load, 'form' | 'batchUnits' | 'fill' | 'open'>} Part of a load, whose batches are pages
 */

/** As a reader without a view does. @param {Pages} of @returns {Part} */
export const openPages = (of) => openReading(of, async ({ primaryUrl, replicaUrls }) => {
  const reader = await openReader({
    redisUrl: primaryUrl, replicaUrl: replicaUrls, deadlineMs: DEADLINE_MS, views: 'none', readFrom: 'replica'
  })
  const feed = reader.feed(FEED)
  return { read: async () => (await feed.latest(of.limit)).items.length, close: () => reader.close() }
})

/** As the lab's own handler does, which serves `ask`. @param {Pages & { isRange?: boolean }} of @returns {Part} */
export const openAsked = (of) => openReading(of, async ({ replicaUrls }) => {
  const connections = await Promise.all(replicaUrls.map((url) => openConnection(url, { name: 'freshet-count', deadlineMs: DEADLINE_MS })))
  const handler = createHandler({ connections, keyPrefix: PREFIX, feed: FEED, layout: of.layout, isRange: of.isRange })
  return {
    read: async () => JSON.parse(await handler.newest(of.limit)).items.length,
    close () { for (const connection of connections) connection.close() }
  }
})

/** @param {Pages} of @param {(servers: Servers) => Promise<Reading>} open @returns {Part} */
const openReading = ({ layout, ids, valueBytes, batchItems, limit }, open) => ({
  form: 'read',
  batchUnits: 1,

  async fill (primaryUrl) {
    const feed = await openFeed(FEED, {
      redisUrl: primaryUrl, deadlineMs: DEADLINE_MS, layout: /** @type {any} */ (layout), maxItems: 0, windowMs: WINDOW_MS
    })
    const source = createSource({ ids, valueBytes, valueChange: 'always', writers: 1 }, 0)
    const nowMs = Date.now()
    for (let i = 0; i < ids;) {
      for (const end = Math.min(ids, i + batchItems); i < end; i++) feed.append(source.next(nowMs - (ids - i) / 100))
      await feed.flush({ deadlineMs: DEADLINE_MS })
    }
    await feed.close()
  },

  async open (servers) {
    const reading = await open(servers)
    // a replica gets the stream only a while after it has synchronised
    while (await reading.read() < limit) await new Promise((resolve) => { setImmediate(resolve) })
    return {
      async run (batches) {
        for (let batch = 0; batch < batches; batch++) {
          const items = await reading.read()
          if (items !== limit) throw new FreshetError('COUNT_FAILED', `a page of ${limit} had ${items} items`)
        }
      },
      close: async () => { await reading.close() }
    }
  }
})
