/**
 * Streams whose events come ready from elsewhere, one at a time: they are counted, and heartbeats are sent.
 *
 * @typedef {import('./viewers.js').Encoder<number>} Encoder
 */
const IDLE_MS = 1000

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
 * @param {{ viewersOf: (encoder: Encoder) => ReturnType<typeof import('./viewers.js').createViewers>,
 *   counts: import('./metrics.js').Counts }} parts
 */
export function createPassing ({ viewersOf, counts }) {
  /** @type {ReturnType<typeof viewersOf> | null} */
  let viewers = null

  return {
    /**
     * @param {(send: (bytes: Buffer) => void) => () => void} watch begins the events of a stream, and returns what ends them
     * @returns {import('./streams.js').Source}
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
