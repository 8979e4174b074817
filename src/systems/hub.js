/**
 * Viewers of keys, such as auctions and assets, by server-sent events. A key is read once for all of its viewers: when it changes, and a
 * few times a second. A viewer that reads slowly waits where it is, and delays no other.
 *
 * @typedef {(stream: Stream, bytes: Buffer) => void} Send one event
 * @typedef {{ current: KeyState, isLast?: boolean }} Shown what was read of a key; `isLast`: it does not change any more
 *
 * @import { KeyState, KeyView } from '../admission/index.js'
 * @import { Push, Source, Stream } from '../push/index.js'
 * @import { Logger } from 'pino'
 */
import { asError } from '../errors.js'
import { EMPTY_HEARTBEAT } from '../push/index.js'

const LOOK_EVERY_MS = 250
export const HEARTBEAT_MS = 10_000

/**
 * @template {Shown} S, P
 * @param {object} parts
 * @param {(id: string) => Promise<S>} parts.read throws while the servers are away
 * @param {(id: string) => string} [parts.keyOf] an id, if it is another text
 * @param {(shown: S, stream: Stream, position: P, send: Send, isOther: boolean) => P} parts.sendTo a stream that has room; returns its new
 *   position; `isOther`: the key was read again since the last time
 * @param {number} [parts.pauseMs] between two events of a key
 * @param {number} [parts.lookEveryMs] at a key that does not change
 * @param {KeyView} parts.view @param {Push} parts.push @param {Logger} parts.log
 */
export function createHub ({ read, keyOf = (id) => id, sendTo, pauseMs = 0, lookEveryMs = LOOK_EVERY_MS, view, push, log }) {
  /** @type {Map<string, { positions: Map<Stream, P>, shown: S | null, unwatch: () => void, isDue: boolean }>} by id */
  const all = new Map()
  /** Streams whose events come from elsewhere. @type {Set<Stream>} */
  const others = new Set()
  const timer = setInterval(() => {
    for (const id of all.keys()) serveSoon(id)
    for (const stream of others) beat(stream)
  }, lookEveryMs).unref()

  /** @type {Send} */
  function send (stream, bytes) {
    stream.send(bytes)
    push.counts.events++
    push.counts.bytes += bytes.length
  }

  /** @param {string} id */
  async function serve (id) {
    const viewers = all.get(id)
    if (!viewers) return
    const before = viewers.shown
    const shown = before?.isLast ? before : await read(id)
    // the last viewer may have left
    if (all.get(id) !== viewers) return
    const isOther = shown.current !== before?.current
    if (isOther) {
      viewers.unwatch()
      viewers.unwatch = view.watch(keyOf(id), () => serveSoon(id))
    }
    viewers.shown = shown
    for (const [stream, position] of viewers.positions) {
      if (stream.hasRoom()) viewers.positions.set(stream, sendTo(shown, stream, position, send, isOther))
      else stream.endIfStuck(performance.now())
    }
  }

  /** @param {Stream} stream */
  function beat (stream) {
    if (performance.now() - stream.sentMs > HEARTBEAT_MS) stream.send(EMPTY_HEARTBEAT)
  }

  /** Several changes of one turn, or of one pause, are sent together. @param {string} id */
  function serveSoon (id) {
    const viewers = all.get(id)
    if (!viewers || viewers.isDue) return
    viewers.isDue = true
    const run = () => {
      viewers.isDue = false
      serve(id).catch((thrown) => {
        const { code, message: reason } = asError(thrown)
        log.debug({ id, code, reason }, 'viewers wait for the servers')
      })
        .finally(() => { for (const stream of all.get(id)?.positions.keys() ?? []) beat(stream) })
    }
    if (pauseMs === 0) setImmediate(run)
    else setTimeout(run, pauseMs).unref()
  }

  return {
    /** @param {string} id @param {P} position that the viewer has @returns {Source} */
    sourceOf: (id, position) => ({
      add (stream) {
        const viewers = all.get(id) ?? { positions: new Map(), shown: null, unwatch () {}, isDue: false }
        all.set(id, viewers)
        viewers.positions.set(stream, position)
        serveSoon(id)
      },
      remove (stream) {
        const viewers = all.get(id)
        viewers?.positions.delete(stream)
        if (viewers?.positions.size !== 0) return
        viewers.unwatch()
        all.delete(id)
      }
    }),

    /**
     * A source whose events come from elsewhere: the hub counts them, and sends heartbeats.
     * @param {(send: (bytes: Buffer) => void) => () => void} watch begins them, and returns what ends them
     * @returns {Source}
     */
    sourceFrom (watch) {
      let unwatch = () => {}
      return {
        add (stream) {
          others.add(stream)
          unwatch = watch((bytes) => send(stream, bytes))
        },
        remove (stream) {
          others.delete(stream)
          unwatch()
        }
      }
    },

    close () { clearInterval(timer) }
  }
}

/**
 * Viewers of keys of a system: `shown` makes of a key what `sendTo` sends.
 * @param {{ reading: Pick<import('./reading.js').Reading, 'current'>, view: KeyView, push: Push, log: Logger }} parts
 */
export const createViewers = ({ reading, ...parts }) => (/** @type {any} */ { shown, ...options }) => createHub({
  ...parts,
  ...options,
  async read (/** @type {string} */ id) {
    const current = await reading.current(id)
    return { current, ...await shown(parts.view.storedOf(current)) }
  }
})
