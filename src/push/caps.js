/** Bounds on streams: per process, per token, and ids that streams subscribe to. */
import { FreshetError } from '../errors.js'

/** Most ids that all streams together subscribe to; each costs up to 200 bytes. */
const MAX_WANTED_IDS = 250_000

/** @typedef {{ maxStreams: number, maxStreamsPerToken: number }} Caps */

/** How many ids and beginnings of ids it names. @param {Partial<Pick<import('./index.js').Wanted, 'ids' | 'beginnings'>>} wanted */
export const countOf = ({ ids, beginnings }) => (ids?.size ?? 0) + (beginnings?.length ?? 0)

/** @param {{ caps: Caps, budget: import('./budget.js').Budget, counts: import('./metrics.js').Counts }} parts */
export function createCaps ({ caps, budget, counts }) {
  /** @type {Map<string, number>} streams */
  const byToken = new Map()
  let wantedIds = 0

  /** @param {string | null} token @param {number} ids @param {1 | -1} sign */
  function count (token, ids, sign) {
    wantedIds += sign * ids
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
      if (ids > 0 && wantedIds + ids > MAX_WANTED_IDS) {
        counts.refused.process++
        throw new FreshetError('OVERLOADED',
          `streams of this reader subscribe to ${wantedIds} ids, of ${MAX_WANTED_IDS} allowed; try again, or use another reader`)
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
