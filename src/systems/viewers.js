/**
 * Viewers of keys, such as auctions and assets, by server-sent events: the encoder of src/push for keys. A key is read once for all of its
 * viewers: when it changes, and a few times a second.
 *
 * @typedef {(stream: Viewer, bytes: Buffer) => void} Send one event
 * @typedef {{ current: KeyState, isLast?: boolean }} Shown what was read of a key; `isLast`: it does not change any more
 *
 * @import { KeyState, KeyView } from '../admission/index.js'
 * @import { Push, Source, Viewer } from '../push/index.js'
 * @import { Logger } from 'pino'
 */
import { asError } from '../errors.js'
import { resetEvent } from '../push/index.js'

/**
 * The events of keys, such as auctions and orders, as server-sent events.
 *
 *     event: snapshot   how it is now
 *     event: <name>     one event; id: <generation>:<sequence number>
 *     event: reset      events may be missing; a snapshot follows
 *
 * A viewer gets every event in order, once. When the events in memory no longer reach back to where a slow viewer is, it is reset. An
 * event is encoded once for all viewers.
 *
 * @typedef {{ generation: string, seq: number }} Position up to where a viewer has events; an empty generation: it has none
 * @typedef {{ snapshot: (current: KeyState) => unknown, event: (event: Fields) => { name: string, data: unknown } }} Views as JSON
 *
 * @import { Fields } from '../admission/index.js'
 * @import { Stream } from '../push/index.js'
 */

const POSITION = /^(.{1,40}):(\d{1,15})$/
const NOWHERE = Object.freeze({ generation: '', seq: 0 })

/**
 * @param {Omit<Parameters<typeof createKeyViewers>[0], 'read' | 'sendTo'> & Views & { current: (id: string) => Promise<KeyState> }} parts
 *   `current` throws if there is no such id
 */
export function createEvents ({ current, snapshot, event, push, ...parts }) {
  const { seqOf } = parts.view
  const { bytesOf, snapshotOf } = createEncoder({ snapshot, event, seqOf })

  const { sourceOf, close } = createKeyViewers(/** @type {any} */ ({
    ...parts,
    push,
    read: async (/** @type {string} */ id) => {
      const one = await current(id)
      return { current: one, isLast: /** @type {{ isLast?: boolean }} */ (one).isLast }
    },

    /**
     * @param {{ current: KeyState }} shown @param {Stream} stream @param {Position} position @param {Send} send @param {boolean} isOther
     * @returns {Position}
     */
    sendTo ({ current: one }, stream, position, send, isOther) {
      const seq = seqOf(one)
      const first = seq - one.events.length + 1
      // terms may have changed
      const from = isOther && seq === 0 ? NOWHERE : position
      if (from.generation !== one.generation || from.seq > seq || from.seq < first - 1) {
        if (from !== NOWHERE) stream.send(resetEvent('missed'))
        if (from !== NOWHERE) push.counts.resets++
        send(stream, snapshotOf(one))
        return { generation: one.generation, seq }
      }
      for (let next = from.seq + 1; next <= seq; next++) {
        if (!stream.hasRoom()) return { ...from, seq: next - 1 }
        send(stream, bytesOf(one, one.events[next - first]))
      }
      return { ...from, seq }
    }
  }))

  return {
    /** @param {string} id @param {string | null} last Last-Event-ID; one that is no position costs a reset */
    sourceOf (id, last) {
      const [, generation = '', seq = 0] = POSITION.exec(last ?? '') ?? []
      return sourceOf(id, last === null ? NOWHERE : { generation, seq: Number(seq) })
    },
    close
  }
}

/** @param {Views & { seqOf: (one: KeyState) => number }} views */
function createEncoder ({ snapshot, event: viewOf, seqOf }) {
  /** @type {WeakMap<Fields, Buffer>} */
  const encoded = new WeakMap()

  /** @param {KeyState} one @param {Fields} event */
  function bytesOf ({ generation }, event) {
    const cached = encoded.get(event)
    if (cached) return cached
    const { name, data } = viewOf(event)
    const bytes = Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\nid: ${generation}:${event.seq}\n\n`)
    encoded.set(event, bytes)
    return bytes
  }

  /** @param {KeyState} one */
  function snapshotOf (one) {
    return Buffer.from(`event: snapshot\ndata: ${JSON.stringify(snapshot(one))}\nid: ${one.generation}:${seqOf(one)}\n\n`)
  }

  return { bytesOf, snapshotOf }
}

const LOOK_EVERY_MS = 250

/**
 * @template {Shown} S, P
 * @typedef {object} Parts
 * @property {(id: string) => Promise<S>} read throws while the servers are away
 * @property {(id: string) => string} [keyOf] an id, if it is another text
 * @property {(shown: S, stream: Viewer, position: P, send: Send, isOther: boolean) => P} sendTo a stream that has room; returns its new
 *   position; `isOther`: the key was read again since the last time
 * @property {number} [pauseMs] between two events of a key
 * @property {number} [lookEveryMs] at a key that does not change
 * @property {KeyView} view @property {Push} push @property {Logger} log
 */

/** @template {Shown} S, P @param {Parts<S, P>} parts */
function createKeyViewers (parts) {
  /** by id @type {Map<string, ReturnType<typeof openKey<S, P>>>} */
  const all = new Map()

  return {
    /** @param {string} id @param {P} position that the viewer has @returns {Source} */
    sourceOf: (id, position) => ({
      add (stream) {
        const key = all.get(id) ?? openKey(id, parts)
        all.set(id, key)
        key.add(stream, position)
      },
      remove (stream) {
        if (all.get(id)?.remove(stream)) all.delete(id)
      }
    }),

    sourceFrom: parts.push.sourceFrom,

    close () {
      for (const key of all.values()) key.close()
      all.clear()
    }
  }
}

/** @template {Shown} S, P @param {string} id @param {Parts<S, P>} parts */
function openKey (id, { read, keyOf = (one) => one, sendTo, pauseMs = 0, lookEveryMs = LOOK_EVERY_MS, view, push, log }) {
  /** What each viewer has, and what it was read from. @type {Map<Viewer, { position: P, shown: S | null }>} */
  const has = new Map()
  /** @type {S | null} */
  let shown = null
  let isAway = false
  let isReading = false
  let isDue = true
  let lookedMs = -Infinity
  let unwatch = () => {}
  /** The next piece is sent when there is room. @param {Viewer} stream */
  const lacks = (stream) => has.get(stream)?.shown !== shown || !stream.hasRoom()
  const times = { idleMs: lookEveryMs, lookMs: lookEveryMs, pauseMs }
  const viewers = push.viewersOf({ ...times, refresh, round: (nowMs) => nowMs, serve, lacks, isLong: () => false })

  function changed () {
    isDue = true
    viewers.soon()
  }

  /** Reads the key again if it is due. @returns {boolean} whether there is something to show */
  function refresh () {
    const nowMs = performance.now()
    if (!isReading && !shown?.isLast && (isDue || nowMs - lookedMs >= lookEveryMs)) look()
    return shown !== null && !isAway
  }

  async function look () {
    isReading = true
    isDue = false
    lookedMs = performance.now()
    try {
      const before = shown
      shown = await read(id)
      isAway = false
      if (shown.current !== before?.current) {
        unwatch()
        // the last viewer may have left
        unwatch = has.size > 0 ? view.watch(keyOf(id), changed) : () => {}
      }
      viewers.begin()
    } catch (thrown) {
      isAway = true
      const { code, message: reason } = asError(thrown)
      log.debug({ id, code, reason }, 'viewers wait for the servers')
    }
    isReading = false
    if (isDue) viewers.soon()
    viewers.now()
  }

  /** @param {Viewer} stream @param {Buffer} bytes */
  function send (stream, bytes) {
    stream.send(bytes)
    push.counts.events++
    push.counts.bytes += bytes.length
  }

  /** @param {Viewer} stream @param {number} nowMs */
  function serve (stream, nowMs) {
    const own = has.get(stream)
    if (!own || !stream.hasRoom()) return
    const current = /** @type {S} */ (shown)
    own.position = sendTo(current, stream, own.position, send, own.shown?.current !== current.current)
    own.shown = current
    stream.keepAlive(nowMs)
  }

  return {
    /** @param {Viewer} stream @param {P} position */
    add (stream, position) {
      has.set(stream, { position, shown: null })
      viewers.add(stream)
    },

    /** @param {Viewer} stream @returns {boolean} whether it was the last one; then it is closed */
    remove (stream) {
      has.delete(stream)
      viewers.remove(stream)
      if (has.size > 0) return false
      this.close()
      return true
    },

    close () {
      viewers.close()
      unwatch()
    }
  }
}

/**
 * Viewers of keys of a system: `shown` makes of a key what `sendTo` sends.
 * @param {{ reading: Pick<import('./reading.js').Reading, 'current'>, view: KeyView, push: Push, log: Logger }} parts
 */
export const createViewers = ({ reading, ...parts }) => (/** @type {any} */ { shown, ...options }) => createKeyViewers({
  ...parts,
  ...options,
  async read (/** @type {string} */ id) {
    const current = await reading.current(id)
    return { current, ...await shown(parts.view.storedOf(current)) }
  }
})
