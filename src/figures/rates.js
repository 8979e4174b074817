/**
 * How much is written to each feed, asked of one node for all of them in one go.
 *
 * Not known where no node answers, where this user may not read notes (tried again after a minute), where somebody writes
 * who does not note (an older version, or one who may not): the lease of whoever trims is then of a writer without a note.
 *
 * @typedef {import('./rate.js').Rate} Rate
 * @typedef {import('../store/connection.js').Connection} Connection
 */
import { isFeedName } from '../feeds/definitions.js'
import { namesKey, partitionKey, writersKey } from '../feeds/keys.js'
import { readNotes } from '../feeds/notes.js'
import { createRate } from './rate.js'

const TRY_AGAIN_MS = 60_000

/**
 * @param {{ deployment: Pick<import('../store/deployment.js').Deployment, 'pick'>, keyPrefix: string, elapsed: () => number,
 *   log: { warn: (facts: object, message: string) => void } }} parts `elapsed`: ms of a clock that never goes back
 */
export function createRates ({ deployment, keyPrefix, elapsed, log }) {
  /** @type {Map<string, ReturnType<typeof createRate>>} */
  const rates = new Map()
  /** @type {Connection | undefined} */
  let asked
  let nextAtMs = -Infinity
  let wasSaid = false

  /** @param {any} error */
  function leaveOff (error) {
    if (error.outcome !== 'forbidden') return
    nextAtMs = elapsed() + TRY_AGAIN_MS
    if (!wasSaid) log.warn({ code: error.code, reason: error.message }, 'what writers note may not be read, so it is not known how many items a second come')
    wasSaid = true
  }

  /** @param {Connection} connection @param {string} feed @param {boolean} isCurrent @returns {Promise<Rate | null>} */
  async function rateOf (connection, feed, isCurrent) {
    const [flat, lease] = await Promise.all([
      connection.sendDispensable('HGETALL', writersKey(keyPrefix, feed)),
      connection.send('GET', partitionKey(keyPrefix, feed, 0)('trimmer'))
    ])
    const notes = readNotes(flat)
    const rate = rates.get(feed) ?? createRate()
    rates.set(feed, rate)
    const found = rate.take(notes, { nowMs: elapsed(), isCurrent })
    return lease !== null && !notes.has(String(lease)) ? null : found
  }

  return {
    /**
     * @param {(feeds: string[]) => string[]} choose of those there are
     * @returns {Promise<Map<string, Rate | null>>} by feed; null = not known
     * @throws {import('../errors.js').FreshetError} when no node can be asked
     */
    async read (choose) {
      const { connection, lagMs } = deployment.pick({ prefer: asked })
      asked = connection
      const names = (await connection.send('SMEMBERS', namesKey(keyPrefix))).map(String)
      const feeds = choose(names.filter(isFeedName).sort())
      for (const feed of rates.keys()) if (!feeds.includes(feed)) rates.delete(feed)
      if (elapsed() < nextAtMs) return new Map(feeds.map((feed) => [feed, null]))
      const found = await Promise.all(feeds.map((feed) => rateOf(connection, feed, lagMs !== null).catch((error) => {
        leaveOff(error)
        return null
      })))
      return new Map(feeds.map((feed, i) => [feed, found[i]]))
    }
  }
}
