/**
 * Builds replies and reuses them for identical requests.
 *
 *     with a view      a reply is reused while the revision of its view is the same, for 1 s (its `asOf` is in its body). After
 *                      a change it is reused for 10 times its build time, between 1 and 50 ms, so building one takes at most
 *                      a tenth of the time. For a page of 100 items that is 1 ms.
 *     without a view   concurrent identical requests share one query. Nothing is reused afterwards.
 *
 * A private reply is reused for as long, but not while the view is the same: its `asOf` would tell whether other items change.
 *
 * The body is fixed when it is built, with `asOf` in it. What changes while it is reused (age, replica lag) is in headers.
 *
 * @typedef {object} Built by a route
 * @property {number} asOf @property {number | null} lagMs @property {Buffer} body
 * @property {(Buffer | string)[]} content the reply without its time
 * @property {number} [items] in the body
 * @property {string | null} [next] the cursor, for replies that have it in a header
 * @property {boolean} [isCut] for replies that say in a header that a scan ended at its bound
 *
 * @typedef {object} ReplyRequest what a request asks for
 * @property {string} key the URL, with the type unless it is JSON
 * @property {string | null} feed whose view may have the reply @property {string} type @property {string} vary
 * @property {boolean} isPrivate whether it is of a client that may see some ids only
 * @property {BuildNow | undefined} buildNow
 * @property {() => number} bytesOf an estimate of the memory that building it takes
 * @property {(gone: () => void) => void} onGone calls back when the client is gone
 *
 * @typedef {object} Reuse state of a cached reply
 * @property {string} tag
 * @property {string | null} revision of the view from which it was built
 * @property {import('./headers.js').Freshness} freshness
 * @property {number} builtMs on the clock of `elapsed`
 * @property {number} costMs its build time, at most twice that of the build before: more is likely due to something else
 *   that had the processor
 * @property {number} validUntilMs until then it is reused without a check
 * @property {Buffer | null | undefined} gzipped null: compression does not save enough; undefined: not compressed yet
 * @property {number} retryGzipMs before it, compression is not tried
 * @property {Partial<Record<import('./headers.js').Kind, string[]>>} heads with `freshness`
 *
 * @typedef {Omit<ReplyRequest, 'bytesOf' | 'onGone'> & Omit<Built, 'content' | 'items'> & Reuse} CachedReply
 * @typedef {import('node:stream').Readable} Readable
 * @typedef {(isWanted: () => boolean) => Promise<Built | Readable>} Build a stream is not shared and not cached; `isWanted`: false when
 *   no client waits for the reply any more
 * @typedef {(freshness: import('./headers.js').Freshness) => Built | null} BuildNow synchronous, from a view; null: impossible now
 * @typedef {{ key: string, readMs: number, asOf: number, lagMs: number | null }} Revision of a feed's view: while `key` is the same, so
 *   is its content; `readMs`: when it was last up to date with its node; `asOf`: with the primary, as far as is known
 * @typedef {Pick<import('../http/index.js').ReplyBudget, 'enter' | 'enterNow' | 'hold' | 'mayBeginNow'>} Budget
 * @typedef {{ key: string, isTooOld: boolean, freshness: import('./headers.js').Freshness }} ViewState
 */
import { Counter } from 'prom-client'
import { FreshetError } from '../errors.js'
import { tagOf } from './headers.js'

/** Concurrent calls for the same key share one result, failures included. Nothing is kept when it is there. */

/** @template T */
export class SingleFlight {
  /** @type {Map<string, { result: Promise<T>, clients: number }>} */
  #flights = new Map()

  /**
   * @param {string} key
   * @param {(isWanted: () => boolean) => Promise<T>} work `isWanted`: false when all clients are gone
   * @param {(gone: () => void) => void} [onGone] calls back when the client of this call is gone; default: never
   * @returns {{ result: Promise<T>, isFirst: boolean }} `isFirst`: this call started the work
   */
  join (key, work, onGone = () => {}) {
    const running = this.#flights.get(key)
    const flight = running ?? { result: /** @type {Promise<T>} */ (/** @type {unknown} */ (null)), clients: 0 }
    flight.clients++
    onGone(() => { flight.clients-- })
    if (running) return { result: running.result, isFirst: false }
    this.#flights.set(key, flight)
    flight.result = work(() => flight.clients > 0).finally(() => this.#flights.delete(key))
    return { result: flight.result, isFirst: true }
  }
}

/**
 * Replies by cache key, bounded in number and bytes; the oldest are evicted and counted. They are reused while they are
 * valid, and served stale while the servers are unavailable.
 *
 * Replies above 1 MiB have a store of their own, so that a few of them do not evict all the others. They are reused too, but
 * not served stale.
 */

/** @typedef {ReturnType<typeof createReplyStore>} ReplyStore */
/** @typedef {{ maxReplies: number, maxBytes: number }} Bounds */

const MIB = 1024 * 1024
const MAX_SMALL_BYTES = MIB
const SMALL = Object.freeze({ maxReplies: 200, maxBytes: 32 * MIB })
const LARGE = Object.freeze({ maxReplies: 8, maxBytes: 32 * MIB })

/** @param {import('prom-client').Registry} registry */
export function createReplyStore (registry) {
  const evicted = new Counter({
    name: 'freshet_reply_cache_evictions_total',
    help: 'Total replies evicted from the reply cache',
    registers: [registry]
  })
  const small = new BoundedStore(SMALL, () => evicted.inc())
  const large = new BoundedStore(LARGE, () => evicted.inc())

  return {
    /** @param {CachedReply} reply */
    set (reply) {
      const [store, other] = reply.body.length > MAX_SMALL_BYTES ? [large, small] : [small, large]
      other.delete(reply.key)
      store.set(reply)
    },

    /** @param {string} key */
    delete (key) {
      small.delete(key)
      large.delete(key)
    },

    /** @param {string} key @returns {CachedReply | undefined} */
    get: (key) => small.replies.get(key) ?? large.replies.get(key),

    /** For stale replies. @param {string} key @returns {CachedReply | undefined} */
    getStale: (key) => small.replies.get(key),

    /** A reply has more bytes than when it was stored. @param {CachedReply} reply @param {number} bytes */
    grow (reply, bytes) {
      small.grow(reply, bytes)
      large.grow(reply, bytes)
    }
  }
}

class BoundedStore {
  /** The oldest first: a reply that replaces another one is inserted again. @type {Map<string, CachedReply>} */
  replies = new Map()
  #bytes = 0
  #bounds
  #onEvict

  /** @param {Bounds} bounds @param {() => void} onEvict */
  constructor (bounds, onEvict) {
    this.#bounds = bounds
    this.#onEvict = onEvict
  }

  /** @param {CachedReply} reply */
  set (reply) {
    this.delete(reply.key)
    this.replies.set(reply.key, reply)
    this.#bytes += sizeOf(reply)
    this.#evict()
  }

  /** @param {string} key */
  delete (key) {
    const reply = this.replies.get(key)
    if (!reply) return
    this.#bytes -= sizeOf(reply)
    this.replies.delete(key)
  }

  /** @param {CachedReply} reply @param {number} bytes */
  grow (reply, bytes) {
    if (this.replies.get(reply.key) !== reply) return
    this.#bytes += bytes
    this.#evict()
  }

  #evict () {
    const { maxReplies, maxBytes } = this.#bounds
    while (this.replies.size > maxReplies || this.#bytes > maxBytes) {
      this.delete(/** @type {string} */ (this.replies.keys().next().value))
      this.#onEvict()
    }
  }
}

/** @param {CachedReply} reply */
const sizeOf = ({ key, body, gzipped }) => 2 * key.length + body.length + (gzipped?.length ?? 0)

/** a reply is checked, and built again, at most this often */
const CHECK_EVERY_MS = 1
/** reuse after a change, as a multiple of the build time, and its bound */
const REUSE_FACTOR = 10
const MAX_REUSE_MS = 50
/** unchanged content is built again after it, so that its `asOf` advances */
const REFRESH_MS = 1000
/** a view that has not been up to date for this long is behind; src/view has the same bound (lag.js), which this folder does not import */
const BEHIND_MS = 1000

/** @param {number} costMs @returns {number} ms for which a reply is reused after a change */
export const reuseMsOf = (costMs) => Math.min(MAX_REUSE_MS, Math.max(CHECK_EVERY_MS, REUSE_FACTOR * costMs))

/**
 * @param {{ asOf: number, lagMs: number | null }} built @param {ViewState | null} state before it was built
 * @returns {import('./headers.js').Freshness}
 */
export const freshnessOf = ({ asOf, lagMs }, state) =>
  state?.freshness.stale ? { ...state.freshness, asOf } : { asOf, lagMs, stale: null }

/**
 * Without what belongs to one request.
 * @param {Omit<ReplyRequest, 'bytesOf' | 'onGone'>} request
 */
const keptOf = ({ key, feed, type, vary, isPrivate, buildNow }) => ({ key, feed, type, vary, isPrivate, buildNow })

/** @param {Revision | null} revision @param {() => number} clock @param {number} maxStaleMs @returns {ViewState | null} */
function stateOf (revision, clock, maxStaleMs) {
  if (!revision) return null
  const { key, readMs, asOf, lagMs } = revision
  const ageMs = clock() - readMs
  if (ageMs < BEHIND_MS) return { key, isTooOld: false, freshness: { asOf, lagMs, stale: null } }
  return { key, isTooOld: ageMs >= maxStaleMs, freshness: { asOf, lagMs: null, stale: 'VIEW_BEHIND' } }
}

/**
 * @param {{ registry: import('prom-client').Registry, store: ReplyStore, budget: Budget, maxStaleMs: number,
 *   clock: () => number, elapsed: () => number,
 *   revisionOf: (feed: string) => Revision | null }} options
 */
export function createReplyCache ({ registry, store, budget, maxStaleMs, clock, elapsed, revisionOf }) {
  const builds = new Counter({
    name: 'freshet_replies_built_total',
    help: 'Total replies built from a view or a query; all other requests shared one',
    registers: [registry]
  })
  /** @type {SingleFlight<CachedReply | Readable>} */
  const flights = new SingleFlight()

  /** @param {string | null} feed @returns {ViewState | null} null: no view answers for it */
  const viewStateOf = (feed) => stateOf(feed === null ? null : revisionOf(feed), clock, maxStaleMs)

  /** Whether it was checked recently, or its content is unchanged. @param {CachedReply} reply @param {number} nowMs */
  function isValid (reply, nowMs) {
    if (nowMs < reply.validUntilMs) return true
    if (reply.revision === null || nowMs - reply.builtMs >= REFRESH_MS) return false
    const state = viewStateOf(reply.feed)
    if (state?.key !== reply.revision || state.isTooOld) return false
    reply.freshness = state.freshness
    reply.heads = {}
    reply.validUntilMs = Math.min(nowMs + CHECK_EVERY_MS, reply.builtMs + REFRESH_MS)
    return true
  }

  /**
   * @param {Omit<ReplyRequest, 'bytesOf' | 'onGone'>} request
   * @param {ViewState | null} state before it was built
   * @param {Built} built
   * @param {number} builtMs when the build began
   * @returns {CachedReply}
   */
  function cache (request, state, { asOf, lagMs, body, content, next, isCut }, builtMs) {
    const before = store.get(request.key)
    const nowMs = elapsed()
    const costMs = Math.min(nowMs - builtMs, 2 * (before?.costMs || Infinity))
    /** @type {CachedReply} */
    const reply = {
      ...keptOf(request),
      asOf,
      lagMs,
      body,
      next,
      isCut,
      tag: tagOf(content),
      revision: state && !request.isPrivate ? state.key : null,
      freshness: freshnessOf({ asOf, lagMs }, state),
      builtMs,
      costMs,
      validUntilMs: state ? builtMs + reuseMsOf(costMs) : -Infinity,
      gzipped: undefined,
      retryGzipMs: before?.retryGzipMs ?? -Infinity,
      heads: {}
    }
    builds.inc()
    if (state || maxStaleMs > 0) store.set(reply)
    return reply
  }

  /**
   * @param {ReplyRequest} request @param {ViewState | null} state @param {Build} build @param {() => boolean} isWanted
   * @returns {Promise<CachedReply | Readable>}
   */
  async function buildAndCache (request, state, build, isWanted) {
    const askedMs = elapsed()
    const now = (state && request.buildNow?.(state.freshness)) ?? null
    if (now) return cache(request, state, now, askedMs)
    const leave = await budget.enter(request.bytesOf, isWanted)
    const startedMs = elapsed()
    const built = await build(isWanted).finally(leave)
    // a reply that could not be built at once is not tried at once next time
    return 'body' in built ? cache({ ...request, buildNow: undefined }, state, built, startedMs) : built
  }

  return {
    viewStateOf,

    /**
     * @param {ReplyRequest} request @param {Build} build
     * @returns {Promise<CachedReply | Readable>}
     * @throws {FreshetError} VIEW_BEHIND, and errors of `build`
     */
    async get (request, build) {
      const cachedReply = store.get(request.key)
      if (cachedReply && isValid(cachedReply, elapsed())) return cachedReply
      const state = viewStateOf(request.feed)
      if (state?.isTooOld) {
        throw new FreshetError('VIEW_BEHIND',
          `the view of feed ${request.feed} has not been up to date for more than ${maxStaleMs} ms; try again, or ask another reader`)
      }
      const { result, isFirst } = flights.join(request.key, (isWanted) => buildAndCache(request, state, build, isWanted), request.onGone)
      const reply = await result
      if (isFirst || 'body' in reply) return reply
      let isHere = true
      request.onGone(() => { isHere = false })
      return buildAndCache(request, state, build, () => isHere)
    },

    /**
     * A reply of JSON to a URL that was answered before, if it is valid or can be built at once.
     * @param {string} url @param {number} nowMs of `elapsed`
     * @returns {CachedReply | undefined}
     */
    getNow (url, nowMs) {
      const cachedReply = store.get(url)
      if (cachedReply === undefined || isValid(cachedReply, nowMs)) return cachedReply
      const state = cachedReply.buildNow ? viewStateOf(cachedReply.feed) : null
      const built = state && !state.isTooOld ? cachedReply.buildNow?.(state.freshness) : null
      return built ? cache(cachedReply, state, built, nowMs) : undefined
    }
  }
}
