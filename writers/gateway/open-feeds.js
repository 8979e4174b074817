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
import { FreshetError } from './errors.js'

const SWEEPS_PER_IDLE = 6

/**
 * @param {{ open: (name: string, stored: Stored | null) => Promise<Feed>, definition: (name: string) => Promise<Definition>,
 *   onOpen: (feed: Feed) => void, onClose: (feed: Feed) => void, log: import('pino').Logger,
 *   maxOpen: number, idleMs: number, tryAgainMs: number }} options as of createFeeds
 */
export function createOpenFeeds ({ open, definition, onOpen, onClose, log, maxOpen, idleMs, tryAgainMs }) {
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
export const hasFailed = ({ feed }) => feed !== null && feed.writer.pipeline.failure !== null

/**
 * Feeds that failed recently, with their errors. Requests for such a feed are refused with the same error: each attempt
 * costs connections, and refused clients retry soon.
 */

/**
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
