/**
 * What is looked up of feeds beside their items: whether they exist, their secrets, and their definitions, each of which is read again
 * from a node after half a second. While no node can be asked, the last one holds. What a node does not have is looked up at the primary:
 * only that knows that a feed does not exist.
 */
import { FreshetError } from '../errors.js'
import { formatOf, readDefinition, readSecret } from '../feeds/index.js'
import { newSecret } from '../item/index.js'

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

/**
 * The secrets of feeds, for what a reader seals (item/cursor.js): all readers of the same servers have the same. A feed that no writer of
 * this version has opened yet has none; then one of this process is used, and what it seals is invalid in others.
 */

const FRESH_MS = 500
const MAX_FEEDS = 10_000

/**
 * @param {{ keyPrefix: string, lookUp: import('../store/index.js').LookUp,
 *   onNode: <T>(read: (connection: import('../store/index.js').Router) => Promise<T>) => Promise<T> }} parts
 * @returns {(feed: string, isNew?: boolean) => Promise<{ secret: string, isStored: boolean }>} `isNew`: it has just begun
 */
export function createFeedSecrets ({ keyPrefix, lookUp, onNode }) {
  const own = newSecret()
  const primary = { send: (/** @type {any[]} */ ...words) => lookUp(/** @type {any} */ (words)) }
  /** @type {Map<string, { secret: string, isStored: boolean, readMs: number }>} */
  const secrets = new Map()

  /** @param {string} feed */
  async function read (feed) {
    const { stored } = await onNode(async (connection) => ({ stored: await readSecret(connection, keyPrefix, feed) }))
    // a replica may not have it yet
    const secret = stored ?? await readSecret(primary, keyPrefix, feed)
    return secret === null ? { secret: `${own} ${feed}`, isStored: false } : { secret, isStored: true }
  }

  return async (feed, isNew = false) => {
    const last = secrets.get(feed)
    if (last && performance.now() - last.readMs < FRESH_MS && (last.isStored || !isNew)) return last
    const found = await read(feed).catch((error) => {
      if (error.retryable && last) return last
      throw error
    })
    if (secrets.size >= MAX_FEEDS) secrets.clear()
    secrets.set(feed, { ...found, readMs: performance.now() })
    return found
  }
}

const MAX_AGE_MS = 500

/**
 * @param {{ keyPrefix: string, now: () => number, lookUp: import('../store/index.js').LookUp,
 *   openedOf: (feed: string) => Definition | null }} parts `openedOf`: the definition of a feed that the caller opened, which a
 *   replica may not have yet
 */
export function createDefinitionCache ({ keyPrefix, now, lookUp, openedOf }) {
  /** @type {Map<string, { definition: Definition, atMs: number }>} */
  const cache = new Map()
  const primary = { send: (/** @type {any[]} */ ...words) => lookUp(/** @type {any} */ (words)) }

  /** @param {import('../store/index.js').Router} connection @param {string} feed @returns {Promise<Definition>} */
  const read = (connection, feed) => readDefinition(connection, keyPrefix, feed).catch((error) => {
    if (error.code !== 'FEED_UNKNOWN') throw error
    return openedOf(feed) ?? readDefinition(primary, keyPrefix, feed)
  })

  /**
   * @param {import('../store/index.js').Router} connection @param {string} feed @returns {Promise<Definition>}
   * @throws {FreshetError} FEED_UNKNOWN, FEED_DEFINITION_DIFFERS
   */
  return async (connection, feed) => {
    const cached = cache.get(feed)
    if (cached && now() - cached.atMs < MAX_AGE_MS) return cached.definition
    const definition = await read(connection, feed).catch((error) => {
      // its shard may be away, and those of the items not
      if (error.retryable && cached) return cached.definition
      cache.delete(feed)
      throw error
    })
    const format = formatOf(definition)
    if (definition.format !== format) {
      throw new FreshetError('FEED_DEFINITION_DIFFERS', `feed ${feed} is stored in format ${definition.format} of layout ` +
        `${definition.layout}; this version reads format ${format}; use the version that wrote it, or drop the feed`)
    }
    cache.set(feed, { definition, atMs: now() })
    return definition
  }
}
