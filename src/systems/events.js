/**
 * The events of keys, such as auctions and orders, as server-sent events (viewers.js).
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
 * @import { Fields, KeyState } from '../admission/index.js'
 * @import { Stream } from '../push/index.js'
 * @import { Send } from './viewers.js'
 */
import { resetEvent } from '../push/index.js'
import { createKeyViewers } from './viewers.js'

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
