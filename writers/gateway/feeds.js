/**
 * Feeds by name, opened by the first request that names them.
 *
 * What is stored about a feed is adopted: layout, partitions, retention. Only a request that may create a feed opens one
 * that is not stored. A feed that has not been used for a second may have been dropped and created with another
 * definition, so its definition is read again before it is used; if it differs, the feed is closed and opened again.
 *
 * @typedef {import('./open-feeds.js').Feed} Feed
 * @typedef {import('./open-feeds.js').Definition} Definition
 * @typedef {import('./open-feeds.js').Entry} Entry
 * @typedef {import('./open-feeds.js').Stored} Stored
 * @typedef {ReturnType<typeof createFeeds>} Feeds
 */
import { FreshetError } from './errors.js'
import { isAgreed } from '../../src/feeds/index.js'
import { createOpenFeeds, hasFailed } from './open-feeds.js'

const MAX_OPEN = 256
const IDLE_MS = 60_000
const TRY_AGAIN_MS = 1000
/** writers hold leases that are renewed each second and last longer, and a feed with leases cannot be dropped */
const UNUSED_MS = 1000
const MAX_REASONS = 10

/**
 * @param {{ open: (name: string, stored: Stored | null) => Promise<Feed>, definition: (name: string) => Promise<Definition>,
 *   admit?: import('./feed-limit.js').FeedLimit['admit'], onOpen?: (feed: Feed) => void, onClose?: (feed: Feed) => void,
 *   log: import('pino').Logger, maxOpen?: number, idleMs?: number, tryAgainMs?: number }} options
 *   `open` creates the feed when `stored` is null; `definition` throws FEED_UNKNOWN;
 *   `admit` throws when no feed may be created; `onClose` is called when the feed is closed
 */
export function createFeeds ({
  open, definition, admit = async () => () => {}, onOpen = () => {}, onClose = () => {}, log,
  maxOpen = MAX_OPEN, idleMs = IDLE_MS, tryAgainMs = TRY_AGAIN_MS
}) {
  const feeds = createOpenFeeds({ open, definition, onOpen, onClose, log, maxOpen, idleMs, tryAgainMs })
  const find = createFinder({ feeds, definition, admit, throwIfClosed })
  let isClosed = false
  let isDraining = false

  function throwIfClosed () {
    if (isClosed) throw new FreshetError('NOT_READY', 'this process is stopping; ask another one, or again in a second')
  }

  return {
    /**
     * Lends a feed while `work` runs.
     * @template T
     * @param {string} name checked already
     * @param {{ mayCreate: boolean }} options without `mayCreate` the definition is read each time
     * @param {(feed: Feed) => Promise<T>} work
     * @returns {Promise<T>}
     * @throws {FreshetError} OVERLOADED, NOT_READY (stopping), FEED_UNKNOWN, FEEDS_FULL, errors of opening
     */
    async use (name, { mayCreate }, work) {
      throwIfClosed()
      return feeds.hold(name, await find(name, mayCreate), work)
    },

    /** Items that were not acknowledged when their feed was closed. */
    get failed () { return feeds.failed },

    /** Bytes in flight of all feeds together. */
    get heldBytes () {
      let sum = 0
      for (const [, { feed }] of feeds.all()) if (feed) sum += feed.writer.pipeline.heldBytes
      return sum
    },

    /**
     * Why feeds do not acknowledge, for /readyz. A feed that failed is no reason: the next request opens it again.
     * @returns {string[]} the first few
     */
    reasons () {
      const reasons = []
      let left = 0
      for (const [name, entry] of feeds.all()) {
        const own = hasFailed(entry) ? [] : entry.feed?.status().reasons ?? []
        if (own.length > 0 && reasons.length >= MAX_REASONS) left++
        else for (const reason of own) reasons.push(`${name}: ${reason}`)
      }
      return left > 0 ? [...reasons, `and ${left} more feeds`] : reasons
    },

    /** From `drain` on, items are flushed at once instead of waiting for a full batch, so that requests end soon. */
    get isDraining () { return isDraining },
    drain () {
      isDraining = true
      for (const [, { feed }] of feeds.all()) feed?.flush().catch(() => {})
    },

    /** Opens no more feeds, and closes all. @param {{ drainMs: number }} drain @returns {Promise<void>} when they are closed */
    async close (drain) {
      isClosed = true
      await feeds.closeAll(drain)
    }
  }
}

/**
 * @param {{ feeds: import('./open-feeds.js').OpenFeeds, definition: (name: string) => Promise<Definition>,
 *   admit: import('./feed-limit.js').FeedLimit['admit'], throwIfClosed: () => void }} parts
 * @returns {(name: string, mayCreate: boolean) => Promise<Entry>} the feed, which is open, or being opened
 */
function createFinder ({ feeds, definition, admit, throwIfClosed }) {
  /** @param {string} name @returns {Promise<Definition | null>} null: it is not stored */
  async function storedOf (name) {
    try {
      return await definition(name)
    } catch (error) {
      if (error.code === 'FEED_UNKNOWN') return null
      throw error
    }
  }

  /** @param {string} name @returns {Promise<{ stored: Definition | null, settle: (created: Promise<unknown>) => void }>} */
  async function admitNew (name) {
    try {
      return { stored: null, settle: await admit(name) }
    } catch (error) {
      // another process may have created it in the meantime
      const stored = error.code === 'FEEDS_FULL' ? await storedOf(name) : null
      if (stored === null) throw error
      return { stored, settle: () => {} }
    }
  }

  /** @param {string} name @param {Entry | undefined} known open before the definition was read @param {Definition | null} stored */
  function reuseOrOpen (name, known, stored) {
    throwIfClosed()
    const now = feeds.get(name)
    // another request may have opened it in the meantime
    if (now && !hasFailed(now) && (now !== known || isSame(now, stored))) return now
    if (now && hasFailed(now)) feeds.closeFailed(name, now)
    else if (now) feeds.close(name, now, 'dropped', { drainMs: 0 })
    feeds.throwRecentFailure(name)
    return feeds.begin(name, stored)
  }

  return async (name, mayCreate) => {
    const known = feeds.get(name)
    if (known && !hasFailed(known) && mayCreate && !isUnused(known)) return known
    if (known && hasFailed(known)) feeds.closeFailed(name, known)
    feeds.throwRecentFailure(name)
    /** @type {Definition | null} */
    let read
    try {
      read = mayCreate ? await storedOf(name) : await definition(name)
    } catch (error) {
      // without the primary its definition is unknown; an open feed holds items until they can be sent
      if (mayCreate && known && feeds.get(name) === known && !hasFailed(known)) return known
      throw error
    }
    const { stored, settle } = read === null ? await admitNew(name) : { stored: read, settle: () => {} }
    try {
      const entry = reuseOrOpen(name, known, stored)
      // its first accepted item creates it
      settle(entry.opening.then(({ writer }) => writer.settled, () => {}))
      return entry
    } catch (error) {
      settle(Promise.resolve())
      throw error
    }
  }
}

/** @param {Entry} entry */
const isUnused = ({ feed, holders, usedAtMs }) => feed !== null && holders === 0 && performance.now() - usedAtMs > UNUSED_MS

/**
 * Whether an open feed still has the stored definition; opening a feed checks that itself.
 * @param {Entry} entry @param {Definition | null} stored
 */
const isSame = ({ feed }, stored) => feed === null || (stored !== null && isAgreed(stored, feed.definition))
