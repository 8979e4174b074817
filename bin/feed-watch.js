/**
 * `npm start feed -- show NAME --watch`: rate, lag and newest items of a feed, once a second.
 *
 * @typedef {{ at: string, itemsPerSecond: number | null, writers: number | null, count: number | null, lagMs: number | null,
 *   newest: { id: string, ts: number, value: string }[] | null }} Line null = unknown; `lagMs`: of the replica that is furthest behind
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createFigures, EVERY_MS } from '../src/figures/index.js'
import { openReader } from '../src/index.js'
import { insideOfReader } from '../src/inside.js'

const NEWEST = 3

/**
 * @param {string} feed
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, keyPrefix: string, deadlineMs: number, log: import('pino').Logger,
 *   signal: AbortSignal }} options
 * @param {(line: Line) => void} print
 * @returns {Promise<void>} when the signal is aborted @throws {import('../src/errors.js').FreshetError} FEED_UNKNOWN
 */
export async function watchFeed (feed, { primaryUrl, replicaUrls, keyPrefix, deadlineMs, log, signal }, print) {
  const reader = await openReader({
    redisUrl: primaryUrl, replicaUrl: replicaUrls ?? undefined, keyPrefix, deadlineMs, views: 'none', log
  })
  const { queries, deployment } = insideOfReader(reader)
  const figures = createFigures({ queries, deployment, keyPrefix, now: Date.now, log })
  try {
    while (!signal.aborted) {
      const [{ itemsPerSecond, writers, count, nodes }, page] = await Promise.all([
        figures.of(feed, Infinity),
        queries.latest(feed, { limit: NEWEST }).catch((error) => {
          if (!error.retryable) throw error
          return null
        })
      ])
      const lags = nodes.flatMap(({ lagMs }) => lagMs === null ? [] : [lagMs])
      print({
        at: new Date().toISOString(),
        itemsPerSecond,
        writers,
        count,
        lagMs: lags.length > 0 ? Math.max(...lags) : null,
        newest: page && page.items.map(({ id, ts, value }) => ({ id: String(id), ts, value: String(value) }))
      })
      await sleep(EVERY_MS, null, { signal }).catch(() => {})
    }
  } finally {
    figures.close()
    await reader.close()
  }
}
