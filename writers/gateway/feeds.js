/**
 * Feeds by name, opened by the first request that names them.
 *
 * What is stored about a feed is adopted: layout, partitions, retention. Only a request that may create a feed opens one
 * that is not stored. A feed that has not been used for a second may have been dropped and created with another
 * definition, so its definition is read again before it is used; if it differs, the feed is closed and opened again.
 *
 * @typedef {ReturnType<typeof createFeeds>} Feeds
 */
import { isAgreed } from '../../src/feeds/index.js'
import { layoutOf } from '../../src/layouts/index.js'
import { FreshetError } from './errors.js'

const MAX_OPEN = 256
const IDLE_MS = 60_000
const TRY_AGAIN_MS = 1000
/** Writers hold leases that are renewed each second and last longer, and a feed with leases cannot be dropped. */
const UNUSED_MS = 1000
const MAX_REASONS = 10

/**
 * @param {{ open: (name: string, stored: Stored | null) => Promise<Feed>, definition: (name: string) => Promise<Definition>,
 *   admit?: import('./definitions.js').FeedLimit['admit'], onOpen?: (feed: Feed) => void, onClose?: (feed: Feed) => void,
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
        const feedReasons = hasFailed(entry) ? [] : entry.feed?.status().reasons ?? []
        if (feedReasons.length > 0 && reasons.length >= MAX_REASONS) left++
        else for (const reason of feedReasons) reasons.push(`${name}: ${reason}`)
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
 * @param {{ feeds: OpenFeeds, definition: (name: string) => Promise<Definition>,
 *   admit: import('./definitions.js').FeedLimit['admit'], throwIfClosed: () => void }} parts
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

  /** @param {string} name @param {Entry | undefined} existing open before the definition was read @param {Definition | null} stored */
  function reuseOrOpen (name, existing, stored) {
    throwIfClosed()
    const now = feeds.get(name)
    // another request may have opened it in the meantime
    if (now && !hasFailed(now) && (now !== existing || isSame(now, stored))) return now
    if (now && hasFailed(now)) feeds.closeFailed(name, now)
    else if (now) feeds.close(name, now, 'dropped', { drainMs: 0 })
    feeds.throwRecentFailure(name)
    return feeds.begin(name, stored)
  }

  return async (name, mayCreate) => {
    const existing = feeds.get(name)
    if (existing && !hasFailed(existing) && mayCreate && !isUnused(existing)) return existing
    if (existing && hasFailed(existing)) feeds.closeFailed(name, existing)
    feeds.throwRecentFailure(name)
    /** @type {Definition | null} */
    let read
    try {
      read = mayCreate ? await storedOf(name) : await definition(name)
    } catch (error) {
      // without the primary its definition is unknown; an open feed holds items until they can be sent
      if (mayCreate && existing && feeds.get(name) === existing && !hasFailed(existing)) return existing
      throw error
    }
    const { stored, settle } = read === null ? await admitNew(name) : { stored: read, settle: () => {} }
    try {
      const entry = reuseOrOpen(name, existing, stored)
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

/** The one layout whose entries are batches, which can be compressed. */
const COMPRESSED = 'segments'

/**
 * Options with which the gateway opens a feed: its own settings, overridden by what is stored about the feed.
 * @param {Record<string, any>} options of openFeed, from the settings of the gateway
 * @param {Stored | null} stored null: the feed is created from the settings
 * @returns {Record<string, any>}
 * @throws {import('../../src/errors.js').FreshetError} FEED_LAYOUT_UNKNOWN: a later version created the feed
 */
export function openingOptions (options, stored) {
  if (stored === null) return options
  layoutOf(stored.layout)
  const { compress, ...rest } = options
  return { ...rest, ...stored, ...(stored.layout === COMPRESSED ? { compress } : {}) }
}

/**
 * The feeds that this process holds open, at most `maxOpen`. A feed is idle when no request uses it and nothing of it is in
 * flight; idle feeds are closed after `idleMs`, or earlier when another feed needs the room, or at once if they are not stored.
 * A feed with unacknowledged items is never closed for room. A feed that failed is closed by the next request or sweep, and the
 * failure is repeated to requests for `tryAgainMs`; after FEED_DEFINITION_DIFFERS it may be opened again at once, as it is stored
 * now.
 *
 * The Map is ordered by last use, the least recent first.
 *
 * @typedef {import('../../src/inside.js').WritableFeed} Feed
 * @typedef {import('../../src/feeds/index.js').Definition} Definition
 * @typedef {Pick<Definition, 'layout' | 'partitions' | 'windowMs' | 'maxItems' | 'late'>} Stored
 * @typedef {{ opening: Promise<Feed>, feed: Feed | null, holders: number, usedAtMs: number }} Entry
 * @typedef {ReturnType<typeof createOpenFeeds>} OpenFeeds
 */

const SWEEPS_PER_IDLE = 6

/**
 * @param {{ open: (name: string, stored: Stored | null) => Promise<Feed>, definition: (name: string) => Promise<Definition>,
 *   onOpen: (feed: Feed) => void, onClose: (feed: Feed) => void, log: import('pino').Logger,
 *   maxOpen: number, idleMs: number, tryAgainMs: number }} options as of createFeeds
 */
function createOpenFeeds ({ open, definition, onOpen, onClose, log, maxOpen, idleMs, tryAgainMs }) {
  /** @type {Map<string, Entry>} */
  const entries = new Map()
  /** @type {Map<string, Promise<unknown>>} */
  const closing = new Map()
  const failures = createFailures({ forMs: tryAgainMs, max: maxOpen })
  let failed = 0
  const sweep = setInterval(closeIdle, Math.ceil(idleMs / SWEEPS_PER_IDLE)).unref()

  /** Closes the least recently used feed that is idle. @returns {Promise<void>} @throws {FreshetError} OVERLOADED */
  function makeRoom () {
    for (const [name, entry] of entries) if (isIdle(entry)) return close(name, entry, 'making room')
    throw new FreshetError('OVERLOADED', `${entries.size} feeds are open and in use, which is the limit; ` +
      'try again in a second, or write to fewer feeds through one gateway')
  }

  /** @param {string} name @param {Entry} entry @param {string} reason @param {{ drainMs?: number }} [drain] @returns {Promise<void>} */
  function close (name, entry, reason, drain) {
    if (entries.get(name) === entry) entries.delete(name)
    const closed = entry.opening.then(async (feed) => {
      await feed.close(drain).catch((error) => log.warn({ feed: name, code: error.code, reason: error.message }, 'closing a feed failed'))
      failed += feed.account.failed
      log.info({ feed: name, reason }, 'feed closed')
      onClose(feed)
    }, () => {}).finally(() => closing.delete(name))
    closing.set(name, closed)
    return closed
  }

  function closeIdle () {
    const before = performance.now() - idleMs
    for (const [name, entry] of entries) {
      if (isIdle(entry) && entry.usedAtMs <= before) close(name, entry, 'idle')
      else if (hasFailed(entry) && entry.holders === 0) closeFailed(name, entry)
    }
  }

  /** @param {string} name @param {Entry} entry */
  function closeFailed (name, entry) {
    const failure = /** @type {Error & { code?: string }} */ (entry.feed?.writer.pipeline.failure)
    close(name, entry, 'failed', { drainMs: 0 })
    if (failure.code !== 'FEED_DEFINITION_DIFFERS') failures.remember(name, failure)
  }

  return {
    close,
    closeFailed,
    /** @type {(name: string) => void} throws the error with which the feed failed recently */
    throwRecentFailure: failures.throwRecent,

    /** Items that were not acknowledged when their feed was closed. */
    get failed () { return failed },

    /** @param {string} name @returns {Entry | undefined} */
    get: (name) => entries.get(name),

    /** @returns {Iterable<[string, Entry]>} */
    all: () => entries,

    /** Begins to open a feed. @param {string} name @param {Definition | null} stored @returns {Entry} */
    begin (name, stored) {
      const ready = Promise.all([closing.get(name), entries.size < maxOpen ? null : makeRoom()])
      /** @type {Entry} */
      const entry = { opening: ready.then(() => openStored(name, stored, { open, definition })), feed: null, holders: 0, usedAtMs: 0 }
      entries.set(name, entry)
      entry.opening.then((feed) => {
        entry.feed = feed
        const { layout, partitions, windowMs, maxItems } = feed.definition
        log.info({ feed: name, layout, partitions, windowMs, maxItems }, 'feed opened')
        onOpen(feed)
      }, (error) => {
        if (entries.get(name) === entry) entries.delete(name)
        failures.remember(name, error)
      })
      return entry
    },

    /**
     * Runs `work` with a feed, which is not idle until it ends.
     * @template T
     * @param {string} name @param {Entry} entry @param {(feed: Feed) => Promise<T>} work
     */
    async hold (name, entry, work) {
      entry.holders++
      try {
        return await work(entry.feed ?? await entry.opening)
      } finally {
        entry.holders--
        entry.usedAtMs = performance.now()
        if (entries.get(name) === entry) {
          entries.delete(name)
          entries.set(name, entry)
          // it would count as a feed being created
          if (isIdle(entry) && !entry.feed?.writer.isStored) close(name, entry, 'nothing was stored', { drainMs: 0 })
        }
      }
    },

    /** @param {{ drainMs: number }} drain */
    async closeAll (drain) {
      clearInterval(sweep)
      for (const [name, entry] of entries) close(name, entry, 'stopping', drain)
      await Promise.all(closing.values())
    }
  }
}

/** @param {Entry} entry */
const isIdle = ({ feed, holders }) => holders === 0 && feed !== null && feed.writer.pipeline.heldBytes === 0

/**
 * @param {string} name @param {Definition | null} stored
 * @param {{ open: (name: string, stored: Stored | null) => Promise<Feed>, definition: (name: string) => Promise<Definition> }} parts
 */
async function openStored (name, stored, { open, definition }) {
  try {
    return await open(name, stored && adopted(stored))
  } catch (error) {
    // another process created it in the meantime, with another definition
    if (error.code !== 'FEED_DEFINITION_DIFFERS') throw error
    return open(name, adopted(await definition(name)))
  }
}

/** @param {Definition} stored @returns {Stored} */
const adopted = ({ layout, partitions, windowMs, maxItems, late = 'newest' }) => ({ layout, partitions, windowMs, maxItems, late })

/** @param {Entry} entry */
const hasFailed = ({ feed }) => feed !== null && feed.writer.pipeline.failure !== null

/**
 * Feeds that failed recently, with their errors. Requests for such a feed are refused with the same error: each attempt
 * costs connections, and refused clients retry soon.
 * @param {{ forMs: number, max: number }} options `max`: beyond it, the oldest failures are forgotten
 */
function createFailures ({ forMs, max }) {
  /** @type {Map<string, { error: Error, untilMs: number }>} the oldest first */
  const failures = new Map()

  return {
    /** @param {string} name @param {Error} error */
    remember (name, error) {
      failures.delete(name)
      failures.set(name, { error, untilMs: performance.now() + forMs })
      if (failures.size > max) failures.delete(/** @type {string} */ (failures.keys().next().value))
    },

    /** @param {string} name @throws the error with which it failed recently */
    throwRecent (name) {
      const failure = failures.get(name)
      if (!failure) return
      if (performance.now() < failure.untilMs) throw failure.error
      failures.delete(name)
    }
  }
}
