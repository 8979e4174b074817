/** Streams whose events come from a source other than a feed. They count for the same bounds, and are ended alike. */
import { retryAfter } from './events.js'
import { RECONNECT_WITHIN_MS } from './hub.js'
import { createStream } from './stream.js'

/** @typedef {import('./stream.js').Stream} Stream */
/** @typedef {{ add: (stream: Stream) => void, remove: (stream: Stream) => void }} Source */

/**
 * @param {{ budget: import('./budget.js').Budget, caps: ReturnType<typeof import('./caps.js').createCaps>,
 *   counts: import('./metrics.js').Counts }} parts
 */
export function createSourceStreams ({ budget, caps, counts }) {
  /** @type {Set<Stream>} */
  const streams = new Set()
  return {
    /** @param {import('./index.js').Response} response @param {import('./index.js').Client} client @param {Source} source */
    add (response, { token, isPermitted }, source) {
      caps.enter(token, null)
      const stream = createStream({
        response,
        budget,
        ids: null,
        limit: 0,
        encoding: '',
        periodMs: 0,
        isPermitted,
        onEnd (reason) {
          counts.ended[reason]++
          caps.leave(token, null)
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
