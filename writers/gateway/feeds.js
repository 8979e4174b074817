/**
 * The feeds this process holds open, opened by the first request that names them.
 *
 * What is stored about a feed is adopted: layout, partitions, retention. Only a request that may create a feed opens one
 * that is not stored. A feed that nobody used for a moment may have been dropped, and created otherwise: what is stored is
 * looked at before it is used again, and if it is another one now, it is opened anew. Each request holds its feed while it uses it; a feed that nobody holds and that has nothing in
 * flight is idle, and is closed after a while, or sooner when its place is needed. Nobody closes what still waits for its
 * acknowledgement. A feed whose pipeline failed is closed by the next request or sweep. One that was dropped and created
 * otherwise is opened anew at once; one that the server refused, or that could not be opened, not for a second.
 *
 * The Map keeps the order of insertion; whoever is used is inserted again, so the first is the one not used for longest.
 *
 * @typedef {import('../../src/index.js').Feed} Feed
 * @typedef {import('../../src/index.js').Definition} Definition
 * @typedef {Pick<Definition, 'layout' | 'partitions' | 'windowMs' | 'maxItems'>} Stored
 * @typedef {{ opening: Promise<Feed>, feed: Feed | null, holders: number, usedAtMs: number }} Entry
 * @typedef {ReturnType<typeof createFeeds>} Feeds
 */
import { isAgreed } from '../../src/feeds/definitions.js'
import { HttpError } from '../../src/http/problem.js'
import { createFailures } from './failures.js'

const MAX_OPEN = 256
const IDLE_MS = 60_000
const SWEEPS_PER_IDLE = 6
const TRY_AGAIN_MS = 1000
/** whoever writes a feed looks each second, and keeps others from dropping it for longer than that */
const LOOK_AGAIN_MS = 1000
const MAX_REASONS = 10

/**
 * @param {{ open: (name: string, stored: Stored | null) => Promise<Feed>, definition: (name: string) => Promise<Definition>,
 *   admit?: import('./feed-limit.js').FeedLimit['admit'], onOpen?: (feed: Feed) => void, onClose?: (feed: Feed) => void, log: import('pino').Logger,
 *   maxOpen?: number, idleMs?: number, tryAgainMs?: number }} options
 *   `open` creates the feed when `stored` is null; `definition` throws FEED_UNKNOWN;
 *   `admit` throws when no feed may be created; `onClose`: it is closed
 */
export function createFeeds ({ open, definition, admit = async () => () => {}, onOpen = () => {}, onClose = () => {}, log, maxOpen = MAX_OPEN, idleMs = IDLE_MS, tryAgainMs = TRY_AGAIN_MS }) {
  /** @type {Map<string, Entry>} */
  const entries = new Map()
  /** @type {Map<string, Promise<unknown>>} */
  const closing = new Map()
  const failures = createFailures({ forMs: tryAgainMs, most: maxOpen })
  let isClosed = false
  let isHurried = false
  let failed = 0
  const sweep = setInterval(closeIdle, Math.ceil(idleMs / SWEEPS_PER_IDLE)).unref()

  /** @param {string} name @returns {Promise<Definition | null>} null: there is none */
  async function storedOf (name) {
    try {
      return await definition(name)
    } catch (error) {
      if (error.code === 'FEED_UNKNOWN') return null
      throw error
    }
  }

  /** @param {string} name @param {Definition | null} stored @returns {Promise<Feed>} */
  async function openStored (name, stored) {
    try {
      return await open(name, stored && adopted(stored))
    } catch (error) {
      // somebody else created it meanwhile, in another way
      if (error.code !== 'FEED_DEFINITION_DIFFERS') throw error
      return open(name, adopted(await definition(name)))
    }
  }

  /** @param {string} name @param {Definition | null} stored @returns {Entry} */
  function begin (name, stored) {
    const ready = Promise.all([closing.get(name), entries.size < maxOpen ? null : freePlace()])
    /** @type {Entry} */
    const entry = { opening: ready.then(() => openStored(name, stored)), feed: null, holders: 0, usedAtMs: 0 }
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
  }

  /** @returns {Promise<void>} when the idle feed that was not used for longest is closed */
  function freePlace () {
    for (const [name, entry] of entries) if (isIdle(entry)) return close(name, entry, 'its place is needed')
    throw new HttpError('OVERLOADED', `${entries.size} feeds are open and in use, which is the limit; try again in a second, or write to fewer feeds through one gateway`)
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
    // what is stored is adopted then
    if (failure.code !== 'FEED_DEFINITION_DIFFERS') failures.remember(name, failure)
  }

  /** @param {string} name @param {boolean} mayCreate @returns {Promise<Entry>} */
  async function entryOf (name, mayCreate) {
    const known = entries.get(name)
    if (known && !hasFailed(known) && mayCreate && !isUnused(known)) return known
    if (known && hasFailed(known)) closeFailed(name, known)
    failures.throwRecent(name)
    /** @type {Definition | null} */
    let stored
    try {
      stored = mayCreate ? await storedOf(name) : await definition(name)
    } catch (error) {
      // nobody can say now: what an open feed takes, it holds until it can be sent
      if (mayCreate && known && entries.get(name) === known && !hasFailed(known)) return known
      throw error
    }
    /** @type {(made: Promise<unknown>) => void} */
    let made = () => {}
    if (stored === null) {
      try {
        made = await admit(name)
      } catch (error) {
        // somebody else may have made it while there seemed to be room for one more
        stored = error.code === 'FEEDS_FULL' ? await storedOf(name) : null
        if (stored === null) throw error
      }
    }
    /** @type {Promise<unknown>} */
    let opening = Promise.resolve()
    try {
      if (isClosed) throw stopping()
      const now = entries.get(name)
      // another request may have come first
      if (now && !hasFailed(now) && (now !== known || isStill(now, stored))) return now
      if (now && hasFailed(now)) closeFailed(name, now)
      else if (now) close(name, now, 'it was dropped', { drainMs: 0 })
      failures.throwRecent(name)
      const entry = begin(name, stored)
      opening = entry.opening
      return entry
    } finally {
      made(opening)
    }
  }

  return {
    /**
     * Lends a feed while `work` runs.
     * @template T
     * @param {string} name checked already
     * @param {{ mayCreate: boolean }} options who may not create it finds out whether it is stored, also when it is open
     * @param {(feed: Feed) => Promise<T>} work
     * @returns {Promise<T>}
     * @throws {HttpError | import('../../src/errors.js').FreshetError} OVERLOADED, NOT_READY (stopping), FEED_UNKNOWN, FEEDS_FULL, what opening throws
     */
    async use (name, { mayCreate }, work) {
      if (isClosed) throw stopping()
      const entry = await entryOf(name, mayCreate)
      entry.holders++
      try {
        return await work(entry.feed ?? await entry.opening)
      } finally {
        entry.holders--
        entry.usedAtMs = performance.now()
        if (entries.get(name) === entry) {
          entries.delete(name)
          entries.set(name, entry)
        }
      }
    },

    /** Items that were not acknowledged when their feed was closed. */
    get failed () { return failed },

    /** Bytes in flight of all feeds together. */
    get heldBytes () {
      let sum = 0
      for (const { feed } of entries.values()) if (feed) sum += feed.writer.pipeline.heldBytes
      return sum
    },

    /**
     * Why feeds do not acknowledge, for /readyz. A feed that failed is no reason: the next request opens it anew.
     * @returns {string[]} the first few
     */
    reasons () {
      const reasons = []
      let left = 0
      for (const [name, entry] of entries) {
        const said = hasFailed(entry) ? [] : entry.feed?.status().reasons ?? []
        if (said.length > 0 && reasons.length >= MAX_REASONS) left++
        else for (const reason of said) reasons.push(`${name}: ${reason}`)
      }
      return left > 0 ? [...reasons, `and ${left} feeds more`] : reasons
    },

    /** From now on nothing that is appended waits for its batch to fill: those who wait are to be answered soon. */
    get isHurried () { return isHurried },
    hurry () {
      isHurried = true
      for (const { feed } of entries.values()) feed?.flush().catch(() => {})
    },

    /** Opens nothing more; closes all, and resolves when they are closed. @param {{ drainMs: number }} drain */
    async close (drain) {
      isClosed = true
      clearInterval(sweep)
      for (const [name, entry] of entries) close(name, entry, 'stopping', drain)
      await Promise.all(closing.values())
    }
  }
}

/** @param {Entry} entry */
const isIdle = ({ feed, holders }) => holders === 0 && feed !== null && feed.writer.pipeline.heldBytes === 0

/** @param {Definition} stored @returns {Stored} */
const adopted = ({ layout, partitions, windowMs, maxItems }) => ({ layout, partitions, windowMs, maxItems })

/** @param {Entry} entry */
const isUnused = ({ feed, holders, usedAtMs }) => feed !== null && holders === 0 && performance.now() - usedAtMs > LOOK_AGAIN_MS

/** @param {Entry} entry @param {Definition | null} stored @returns {boolean} whether what it appends is found; one that is being opened agrees by itself */
const isStill = ({ feed }, stored) => feed === null || (stored !== null && isAgreed(stored, feed.definition))

/** @param {Entry} entry */
const hasFailed = ({ feed }) => feed !== null && feed.writer.pipeline.failure !== null

const stopping = () => new HttpError('NOT_READY', 'this process is stopping; ask another one, or again in a second')
