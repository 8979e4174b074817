/**
 * Callers that wait for feeds that do not exist yet. All names are asked for in one look a second, however many wait:
 *
 *     until(feed) ──┐
 *     until(feed) ──┼──▶ SMEMBERS of the names, once a second ──▶ definition of those that are there ──▶ resolve
 *     until(feed) ──┘
 *
 * @typedef {import('../feeds/index.js').Definition} Definition
 * @typedef {{ resolve: (definition: Definition | null) => void, reject: (error: Error) => void }} Waiter
 */

const LOOK_EVERY_MS = 1000

/**
 * @param {{ names: () => Promise<ReadonlySet<string>>, definitionOf: (feed: string) => Promise<Definition> }} parts `names`: of all feeds;
 *   `definitionOf` throws FEED_UNKNOWN. While no server can be asked, callers go on waiting
 */
export function createFeedWaits ({ names, definitionOf }) {
  /** by feed @type {Map<string, Set<Waiter>>} */
  const waiting = new Map()
  /** @type {NodeJS.Timeout | null} until the next look */
  let timer = null
  let isLooking = false

  function schedule () {
    if (waiting.size > 0 && timer === null && !isLooking) timer = setTimeout(look, LOOK_EVERY_MS)
    if (waiting.size > 0 || timer === null) return
    clearTimeout(timer)
    timer = null
  }

  async function look () {
    timer = null
    isLooking = true
    try {
      const stored = await names()
      await Promise.all([...waiting.keys()].filter((feed) => stored.has(feed)).map(findOne))
    } catch (error) {
      if (!error.retryable) for (const feed of [...waiting.keys()]) settle(feed, ({ reject }) => reject(error))
    } finally {
      isLooking = false
      schedule()
    }
  }

  /** @param {string} feed whose name is stored, and its definition perhaps not yet */
  async function findOne (feed) {
    try {
      const definition = await definitionOf(feed)
      settle(feed, ({ resolve }) => resolve(definition))
    } catch (error) {
      if (!error.retryable && error.code !== 'FEED_UNKNOWN') settle(feed, ({ reject }) => reject(error))
    }
  }

  /** @param {string} feed @param {(waiter: Waiter) => void} how */
  function settle (feed, how) {
    const waiters = waiting.get(feed) ?? []
    waiting.delete(feed)
    for (const waiter of waiters) how(waiter)
  }

  /** @param {string} feed @param {Waiter} waiter */
  function leave (feed, waiter) {
    const waiters = waiting.get(feed)
    if (!waiters?.delete(waiter)) return
    if (waiters.size === 0) waiting.delete(feed)
    schedule()
  }

  return {
    /**
     * Resolves when the feed exists, which the caller has just denied.
     * @param {string} feed @param {AbortSignal} signal
     * @returns {Promise<Definition | null>} null = aborted
     * @throws {import('../errors.js').FreshetError} what makes the feed or the names unreadable
     */
    until (feed, signal) {
      if (signal.aborted) return Promise.resolve(null)
      return new Promise((resolve, reject) => {
        const abort = () => {
          leave(feed, waiter)
          resolve(null)
        }
        const over = (/** @type {(value: any) => void} */ how) => (/** @type {any} */ value) => {
          signal.removeEventListener('abort', abort)
          how(value)
        }
        const waiter = { resolve: over(resolve), reject: over(reject) }
        signal.addEventListener('abort', abort)
        waiting.set(feed, (waiting.get(feed) ?? new Set()).add(waiter))
        schedule()
      })
    }
  }
}
