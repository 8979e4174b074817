/**
 * Replies by cache key, bounded in number and bytes; the oldest are evicted and counted. They are reused while they are
 * valid, and served stale while the servers are unavailable.
 *
 * Replies above 1 MiB have a store of their own, so that a few of them do not evict all the others. They are reused too, but
 * not served stale.
 */
import { Counter } from 'prom-client'

/** @typedef {import('./reply-cache.js').CachedReply} CachedReply */
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
