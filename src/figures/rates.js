/**
 * The write rates of all feeds, read from one node in one pipeline, or from one node of each primary.
 *
 * A rate is unknown if no node answers, if this user may not read heartbeats (tried again each minute), or if a writer sends
 * no heartbeats (an older version, or a missing permission): then the holder of the trimming lease has no heartbeat.
 *
 * @typedef {import('../store/index.js').Router} Connection
 */
import { isFeedName, namesKey, partitionKey, readDefinition, readHeartbeats, writersKey } from '../feeds/index.js'
import { createReads } from '../store/index.js'

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
    const result = rate.take(heartbeats, { nowMs: elapsed(), isCurrent })
    return lease !== null && !heartbeats.has(String(lease)) ? null : result
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
      const results = await Promise.all(feeds.map((feed) => rateOf(connection, feed, reads.lagMs !== null).catch((error) => {
        backOff(error)
        return null
      })))
      last = { names: new Set(names), atMs }
      return new Map(feeds.map((feed, i) => [feed, results[i]]))
    }
  }
}

/**
 * The write rate of one feed, from the heartbeats of its writers (feeds/changes.js): for each writer the difference of its
 * two newest heartbeats over the time between them, on the writer's clock. So neither the time of reading nor the reader's
 * clock matters.
 *
 *     a new heartbeat            rate since the previous one
 *     none for QUIET_MS          the writer is gone or cannot write: 0, if the queried node is known to keep up
 *     a writer seen first        unknown if it was there at our first reading; else all its items were written since the last
 *                                reading, so that one request to an idle feed shows
 *     a writer seen again        a node with more lag did not have it: 0 until its next heartbeat
 *
 * @typedef {import('../feeds/index.js').Heartbeat} Heartbeat
 * @typedef {{ itemsPerSecond: number, writers: number }} Rate `writers`: those that wrote items within the last QUIET_MS
 * @typedef {{ heartbeat: Heartbeat, seenMs: number, roseMs: number, rate: number | null }} Writer `seenMs`, `roseMs`: when the
 *   heartbeat was first seen, and when the number of items last rose
 */

/** three missed heartbeats */
const QUIET_MS = 3000
/** the heartbeat after a pause may follow another one at once */
const LEAST_MS = 500
const MAX_GONE = 1000

/** @param {{ readMs?: number | null }} [options] `readMs`: when the feed did not exist yet, monotonic; null = unknown */
export function createRate ({ readMs = null } = {}) {
  /** @type {Map<string, Writer>} */
  let writers = new Map()
  /** names of writers that were there, the oldest first @type {Set<string>} */
  const gone = new Set()
  let lastRoseMs = -Infinity

  /** @param {string} name @param {Heartbeat} heartbeat @param {number} nowMs @returns {Writer} */
  function added (name, heartbeat, nowMs) {
    if (readMs === null) return { heartbeat, seenMs: nowMs, roseMs: -Infinity, rate: null }
    const rose = gone.has(name) ? 0 : heartbeat.items
    return { heartbeat, seenMs: nowMs, roseMs: rose > 0 ? nowMs : -Infinity, rate: rateOf(rose, nowMs - readMs) }
  }

  /**
   * @param {Writer} writer
   * @param {Heartbeat} heartbeat
   * @param {{ nowMs: number, isCurrent: boolean }} read
   * @returns {Writer}
   */
  function updated (writer, heartbeat, { nowMs, isCurrent }) {
    const rose = heartbeat.items - writer.heartbeat.items
    const passedMs = heartbeat.atMs - writer.heartbeat.atMs
    // an older one comes from a node with more lag
    const isNew = rose > 0 || (rose === 0 && passedMs > 0)
    if (!isNew) return nowMs - writer.seenMs > QUIET_MS ? { ...writer, rate: isCurrent ? 0 : null } : writer
    return { heartbeat, seenMs: nowMs, roseMs: rose > 0 ? nowMs : writer.roseMs, rate: passedMs > 0 ? rateOf(rose, passedMs) : writer.rate }
  }

  /** @param {string[]} names */
  function remember (names) {
    for (const name of names) gone.delete(name)
    for (const name of names) gone.add(name)
    for (const name of gone) if (gone.size > MAX_GONE) gone.delete(name)
  }

  return {
    /** When items were last seen to be written, monotonic; -Infinity = never. */
    get lastRoseMs () { return lastRoseMs },

    /**
     * @param {Map<string, Heartbeat | null>} heartbeats by writer, as just read
     * @param {{ nowMs: number, isCurrent: boolean }} read `nowMs`: monotonic; `isCurrent`: the queried node is known to keep up
     *   with its primary
     * @returns {Rate | null} null = unknown
     */
    take (heartbeats, read) {
      const before = writers
      writers = new Map()
      for (const [name, heartbeat] of heartbeats) {
        const writer = before.get(name)
        if (heartbeat !== null) writers.set(name, writer ? updated(writer, heartbeat, read) : added(name, heartbeat, read.nowMs))
      }
      remember([...before.keys()].filter((name) => !writers.has(name)))
      readMs = read.nowMs
      const all = [...writers.values()]
      lastRoseMs = Math.max(lastRoseMs, ...all.map(({ roseMs }) => roseMs))
      if (all.some(({ rate }) => rate === null) || (all.length === 0 && !read.isCurrent)) return null
      return {
        itemsPerSecond: Math.round(all.reduce((sum, { rate }) => sum + Number(rate), 0) * 100) / 100,
        writers: all.filter(({ roseMs }) => read.nowMs - roseMs <= QUIET_MS).length
      }
    }
  }
}

/** @param {number} items @param {number} ms @returns {number} a second */
const rateOf = (items, ms) => items / Math.max(LEAST_MS, ms) * 1000
