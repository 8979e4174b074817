/**
 * Bounds on streams: their number per process and per token, ids that they subscribe to, and bytes that wait in the sockets of all clients,
 * so that clients that do not read cost a bounded amount.
 *
 *     BUDGET_BYTES  a client with more waiting is sent nothing; above TOTAL_BYTES for all clients, one with any waiting
 *     TOTAL_BYTES   above it, clients that have read nothing for some seconds are ended; above twice that, large items wait
 *     chunkBytes    maximum size of an event, unless one item is larger: a share of TOTAL_BYTES, so that an event for every
 *                   client fits
 *
 * One client has at most BUDGET_BYTES and a chunk waiting, less than 1 MiB.
 */
import { FreshetError } from '../errors.js'

const TOTAL_BYTES = 16 * 1024 * 1024
const BUDGET_BYTES = 32 * 1024
const MIN_CHUNK_BYTES = 32 * 1024
export const MAX_CHUNK_BYTES = 512 * 1024
/** Most ids that all streams together subscribe to; each costs up to 200 bytes. */
const MAX_SUBSCRIBED_IDS = 250_000

/** @typedef {ReturnType<typeof createBudget>} Budget */
/** @typedef {{ maxStreams: number, maxStreamsPerToken: number }} Caps */

/** Of bytes. */
export function createBudget () {
  let waiting = 0
  let streams = 0
  return {
    /** Bytes, of all clients. */
    get waiting () { return waiting },
    get streams () { return streams },
    /** Clients that do not read are ended. */
    get isOver () { return waiting >= TOTAL_BYTES },
    /** Items larger than a chunk wait. */
    get isFarOver () { return waiting >= 2 * TOTAL_BYTES },
    /** Bytes that a client may have waiting when it is sent more. */
    get budgetBytes () { return waiting < TOTAL_BYTES ? BUDGET_BYTES : 0 },
    get chunkBytes () { return Math.max(MIN_CHUNK_BYTES, Math.min(MAX_CHUNK_BYTES, TOTAL_BYTES / streams)) },

    enter () { streams++ },
    /** @param {number} bytes that it had waiting */
    leave (bytes) {
      streams--
      waiting -= bytes
    },
    /** @param {number} bytes positive or negative */
    change (bytes) { waiting += bytes }
  }
}

/**
 * How many ids and beginnings of ids it names.
 * @param {Partial<Pick<import('./index.js').Subscription, 'ids' | 'beginnings'>>} subscription
 */
export const countOf = ({ ids, beginnings }) => (ids?.size ?? 0) + (beginnings?.length ?? 0)

/** @param {{ caps: Caps, budget: Budget, counts: import('./metrics.js').Counts }} parts */
export function createCaps ({ caps, budget, counts }) {
  /** @type {Map<string, number>} streams */
  const byToken = new Map()
  let subscribedIds = 0

  /** @param {string | null} token @param {number} ids @param {1 | -1} sign */
  function count (token, ids, sign) {
    subscribedIds += sign * ids
    if (token === null) return
    const streams = (byToken.get(token) ?? 0) + sign
    if (streams > 0) byToken.set(token, streams)
    else byToken.delete(token)
  }

  return {
    /** @param {string | null} token @param {number} ids that it subscribes to @throws {FreshetError} OVERLOADED */
    check (token, ids) {
      if (budget.streams >= caps.maxStreams) {
        counts.refused.process++
        throw new FreshetError('OVERLOADED',
          `${budget.streams} streams are open, which is the limit of this reader (--max-streams); try again, or use another reader`)
      }
      if (ids > 0 && subscribedIds + ids > MAX_SUBSCRIBED_IDS) {
        counts.refused.process++
        throw new FreshetError('OVERLOADED',
          `streams of this reader subscribe to ${subscribedIds} ids, of ${MAX_SUBSCRIBED_IDS} allowed; try again, or use another reader`)
      }
      if (token !== null && (byToken.get(token) ?? 0) >= caps.maxStreamsPerToken) {
        counts.refused.token++
        throw new FreshetError('OVERLOADED', `${byToken.get(token)} streams with this token are open, which is the limit ` +
          '(--max-streams-per-token); try again when one has ended')
      }
    },

    /** @param {string | null} token @param {number} ids */
    enter (token, ids) { count(token, ids, 1) },

    /** @param {string | null} token @param {number} ids */
    leave (token, ids) { count(token, ids, -1) }
  }
}
