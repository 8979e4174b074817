/** The open streams of a process. Events come from feeds or from other sources; all count for the same bounds, and are ended alike. */
import { retryAfter } from './events.js'
import { countOf } from './caps.js'
import { Stream } from './stream.js'

/** Clients of a reader that stops reconnect within this time, not all at once. */
const RECONNECT_WITHIN_MS = 3000

/** @typedef {import('./viewer.js').Viewer} Viewer */
/** @typedef {{ add: (stream: Viewer) => void, remove: (stream: Viewer) => void }} Source */

/**
 * @param {{ budget: import('./budget.js').Budget, caps: ReturnType<typeof import('./caps.js').createCaps>,
 *   counts: import('./metrics.js').Counts, hold: () => () => void }} parts `hold` is called when a stream opens, and what it
 *   returns when the stream ends
 */
export function createStreams ({ budget, caps, counts, hold }) {
  /** @type {Set<Stream>} */
  const streams = new Set()
  return {
    /**
     * @param {import('./index.js').Response} response @param {import('./index.js').Client} client @param {Source} source
     * @param {Partial<import('./index.js').Wanted>} [wanted] of feeds @param {number} [feeds] how many
     */
    add (response, { token, isPermitted }, source, wanted = {}, feeds = 1) {
      const { ids = null, beginnings, limit = 0, encoding = '', periodMs = 0, seal, start } = wanted
      const count = countOf({ ids, beginnings }) * feeds
      caps.enter(token, count)
      const release = hold()
      const stream = new Stream({
        response,
        budget,
        ids,
        beginnings,
        limit,
        encoding,
        periodMs,
        seal,
        start,
        isPermitted,
        onEnd (reason) {
          counts.ended[reason]++
          caps.leave(token, count)
          release()
          streams.delete(stream)
          source.remove(stream)
        }
      })
      streams.add(stream)
      source.add(stream)
    },

    revoke () { for (const stream of [...streams]) if (!stream.isPermitted()) stream.end('revoked', '') },

    close () { for (const stream of [...streams]) stream.end('stopped', retryAfter(Math.random() * RECONNECT_WITHIN_MS)) }
  }
}
