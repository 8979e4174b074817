/** The open streams of a process. Events come from feeds or from other sources; all count for the same bounds, and are ended alike. */
import { countOf } from './caps.js'
import { retrySoon } from './events.js'
import { Stream } from './stream.js'

/** Between two looks at streams whose events come ready. */
const IDLE_MS = 1000

/** @typedef {import('./stream.js').Viewer} Viewer */
/** @typedef {import('./viewers.js').Encoder<number>} Encoder */
/** @typedef {{ add: (stream: Viewer) => void, remove: (stream: Viewer) => void }} Source */

/** @type {Encoder} */
const HEARTBEATS = {
  idleMs: IDLE_MS,
  refresh: () => true,
  round: (nowMs) => nowMs,
  serve: (stream, nowMs) => stream.keepAlive(nowMs),
  lacks: () => false,
  isLong: () => false
}

/**
 * @param {{ budget: import('./caps.js').Budget, caps: ReturnType<typeof import('./caps.js').createCaps>,
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

    close () { for (const stream of [...streams]) stream.end('stopped', retrySoon()) }
  }
}

/**
 * Streams whose events come ready from elsewhere, one at a time: they are counted, and heartbeats are sent.
 * @param {{ viewersOf: (encoder: Encoder) => ReturnType<typeof import('./viewers.js').createViewers>,
 *   counts: import('./metrics.js').Counts }} parts
 */
export function createPassing ({ viewersOf, counts }) {
  /** @type {ReturnType<typeof viewersOf> | null} */
  let viewers = null

  return {
    /**
     * @param {(send: (bytes: Buffer) => void) => () => void} watch begins the events of a stream, and returns what ends them
     * @returns {Source}
     */
    sourceFrom (watch) {
      let unwatch = () => {}
      return {
        add (stream) {
          viewers ??= viewersOf(HEARTBEATS)
          viewers.add(stream)
          unwatch = watch((bytes) => {
            stream.send(bytes)
            counts.events++
            counts.bytes += bytes.length
          })
        },
        remove (stream) {
          viewers?.remove(stream)
          unwatch()
        }
      }
    },

    close () { viewers?.close() }
  }
}
