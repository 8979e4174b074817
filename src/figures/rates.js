/**
 * The write rates of all feeds, read from one node in one pipeline, or from one node of each primary.
 *
 * A rate is unknown if no node answers, if this user may not read heartbeats (tried again each minute), or if a writer sends
 * no heartbeats (an older version, or a missing permission): then the holder of the trimming lease has no heartbeat.
 *
 * @typedef {import('./rate.js').Rate} Rate
 * @typedef {import('../store/index.js').Router} Connection
 */
import { isFeedName, namesKey, partitionKey, readDefinition, readHeartbeats, writersKey } from '../feeds/index.js'
import { createReads } from '../store/index.js'
import { createRate } from './rate.js'

const RETRY_MS = 60_000

/**
 * @param {{ deployment: Pick<import('../store/index.js').Servers, 'shard'>, keyPrefix: string, elapsed: () => number,
 *   log: { warn: (facts: object, message: string) => void } }} parts `elapsed`: monotonic ms
 */
export function createRates ({ deployment, keyPrefix, elapsed, log }) {
  /** @type {Map<string, ReturnType<typeof createRate>>} */
  const rates = new Map()
  /** the feeds at the last reading @type {{ names: Set<string>, atMs: number } | null} */
  let last = null
  /** @type {ReturnType<typeof createReads> | undefined} */
  let asked
  let nextAtMs = -Infinity
  let isLogged = false

  /** @param {any} error */
  function backOff (error) {
    if (error.outcome !== 'forbidden') return
    nextAtMs = elapsed() + RETRY_MS
    if (!isLogged) log.warn({ code: error.code, reason: error.message }, 'heartbeats of writers cannot be read, so write rates are unknown')
    isLogged = true
  }

  /** @param {Connection} connection @param {string} feed @returns {Promise<Buffer | null>} holder of the trimming lease */
  async function leaseOf (connection, feed) {
    const definition = await readDefinition(connection, keyPrefix, feed).catch(() => null)
    return definition && connection.send('GET', partitionKey(keyPrefix, definition, 0)('trimmer'))
  }

  /** @param {Connection} connection @param {string} feed @param {boolean} isCurrent @returns {Promise<Rate | null>} */
  async function rateOf (connection, feed, isCurrent) {
    const [flat, lease] = await Promise.all([
      connection.sendDispensable('HGETALL', writersKey(keyPrefix, feed)),
      leaseOf(connection, feed)
    ])
    const heartbeats = readHeartbeats(flat)
    const rate = rates.get(feed) ?? createRate({ readMs: last && !last.names.has(feed) ? last.atMs : null })
    rates.set(feed, rate)
    const found = rate.take(heartbeats, { nowMs: elapsed(), isCurrent })
    return lease !== null && !heartbeats.has(String(lease)) ? null : found
  }

  return {
    /** When items of a feed were last seen to be written, monotonic ms; null = not since it is watched. @param {string} feed */
    lastWriteMs (feed) {
      const ms = rates.get(feed)?.lastRoseMs ?? -Infinity
      return ms > -Infinity ? ms : null
    },

    /**
     * @param {(feeds: string[]) => string[]} choose among the existing feeds
     * @returns {Promise<Map<string, Rate | null>>} by feed; null = unknown
     * @throws {import('../errors.js').FreshetError} when no node is available
     */
    async read (choose) {
      const reads = createReads(deployment, { prefer: asked, isBackground: true })
      const connection = reads.router
      asked = reads
      const names = (await connection.send('SMEMBERS', namesKey(keyPrefix))).map(String)
      const feeds = choose(names.filter(isFeedName).sort())
      for (const feed of rates.keys()) if (!feeds.includes(feed)) rates.delete(feed)
      if (elapsed() < nextAtMs) return new Map(feeds.map((feed) => [feed, null]))
      const atMs = elapsed()
      const found = await Promise.all(feeds.map((feed) => rateOf(connection, feed, reads.lagMs !== null).catch((error) => {
        backOff(error)
        return null
      })))
      last = { names: new Set(names), atMs }
      return new Map(feeds.map((feed, i) => [feed, found[i]]))
    }
  }
}
