/**
 * The events of keys, such as auctions and orders, as server-sent events, to any number of viewers of each.
 *
 *     event: snapshot   how it is now
 *     event: <name>     one event; id: <generation>:<sequence number>
 *     event: reset      events may be missing; a snapshot follows
 *
 * A viewer gets every event in order, once. One that reads slowly waits at its place; when the events in memory no longer reach back to
 * it, it is reset. An event is encoded once for all viewers.
 *
 * @typedef {import('../admission/index.js').Known} Known
 * @typedef {import('../admission/index.js').Fields} Fields
 * @typedef {import('../push/index.js').Stream} Stream
 * @typedef {{ generation: string, seq: number }} Place up to where a viewer has events; an empty generation: nowhere
 * @typedef {{ places: Map<Stream, Place>, watched: Known | null, unwatch: () => void, isDue: boolean }} Viewers of one key
 * @typedef {{ snapshot: (one: Known) => unknown, event: (event: Fields) => { name: string, data: unknown } }} Shown
 */
import { EMPTY_HEARTBEAT, resetEvent } from '../push/index.js'

const LOOK_EVERY_MS = 250
const HEARTBEAT_MS = 10_000
const POSITION = /^(.{1,40}):(\d{1,15})$/
/** the partition of what is in the database only */
export const GONE = -1
const NOWHERE = Object.freeze({ generation: '', seq: 0 })

/**
 * @param {{ known: (id: string) => Promise<Known>, keyOf?: (id: string) => string, shown: Shown,
 *   view: import('../admission/index.js').KeyView, push: import('../push/index.js').Push, log: import('pino').Logger }} parts `known`
 *   throws if there is no such id; `keyOf` an id, if it is another text
 */
export function createLive ({ known, keyOf = (id) => id, shown, view, push, log }) {
  /** @type {Map<string, Viewers>} by id */
  const all = new Map()
  const { bytesOf, snapshotOf } = createEncoder(shown)
  const timer = setInterval(() => { for (const id of all.keys()) serveSoon(id) }, LOOK_EVERY_MS).unref()

  /** @param {Stream} stream @param {Buffer} bytes of one event */
  function send (stream, bytes) {
    stream.send(bytes)
    push.counts.events++
    push.counts.bytes += bytes.length
  }

  /** @param {Known} one @param {Stream} stream @param {Place} place @param {() => Buffer} snapshot @returns {Place} */
  function sendTo (one, stream, place, snapshot) {
    const seq = Number(one.fields.seq)
    const first = seq - one.events.length + 1
    if (place.generation !== one.generation || place.seq > seq || place.seq < first - 1) {
      if (place !== NOWHERE) stream.send(resetEvent('missed'))
      if (place !== NOWHERE) push.counts.resets++
      send(stream, snapshot())
      return { generation: one.generation, seq }
    }
    for (let next = place.seq + 1; next <= seq; next++) {
      if (!stream.hasRoom()) return { ...place, seq: next - 1 }
      send(stream, bytesOf(one, one.events[next - first]))
    }
    return place.seq === seq ? place : { ...place, seq }
  }

  /** @param {string} id @param {Viewers} viewers */
  async function serve (id, viewers) {
    // what has left the servers does not change
    const one = viewers.watched?.partition === GONE ? viewers.watched : await known(id)
    if (one !== viewers.watched) {
      viewers.unwatch()
      // terms may have changed
      if (Number(one.fields.seq) === 0) for (const stream of viewers.places.keys()) viewers.places.set(stream, NOWHERE)
      Object.assign(viewers, { watched: one, unwatch: view.watch(keyOf(id), () => serveSoon(id)) })
    }
    const nowMs = performance.now()
    /** @type {Buffer | null} */
    let bytes = null
    for (const [stream, place] of viewers.places) {
      if (stream.hasRoom()) viewers.places.set(stream, sendTo(one, stream, place, () => { bytes ??= snapshotOf(one); return bytes }))
      else stream.endIfStuck(nowMs)
      if (nowMs - stream.sentMs > HEARTBEAT_MS) stream.send(EMPTY_HEARTBEAT)
    }
  }

  /** Several changes of one turn are sent together. @param {string} id */
  function serveSoon (id) {
    const viewers = all.get(id)
    if (!viewers || viewers.isDue) return
    viewers.isDue = true
    setImmediate(() => {
      serve(id, viewers).catch((error) => log.debug({ id, code: error.code, reason: error.message }, 'viewers wait for the servers'))
        .finally(() => { viewers.isDue = false })
    })
  }

  return {
    /**
     * @param {string} id @param {string | null} last Last-Event-ID; one that is no position costs a reset
     * @returns {import('../push/index.js').Source}
     */
    sourceOf (id, last) {
      const [, generation = '', seq = 0] = POSITION.exec(last ?? '') ?? []
      return {
        add (stream) {
          const viewers = all.get(id) ?? { places: new Map(), watched: null, unwatch () {}, isDue: false }
          all.set(id, viewers)
          viewers.places.set(stream, last === null ? NOWHERE : { generation, seq: Number(seq) })
          serveSoon(id)
        },
        remove (stream) {
          const viewers = all.get(id)
          viewers?.places.delete(stream)
          if (viewers?.places.size !== 0) return
          viewers.unwatch()
          all.delete(id)
        }
      }
    },

    close () { clearInterval(timer) }
  }
}

/** @param {Shown} shown */
function createEncoder (shown) {
  /** @type {WeakMap<Fields, Buffer>} */
  const encoded = new WeakMap()

  /** @param {Known} one @param {Fields} event */
  function bytesOf ({ generation }, event) {
    const known = encoded.get(event)
    if (known) return known
    const { name, data } = shown.event(event)
    const bytes = Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\nid: ${generation}:${event.seq}\n\n`)
    encoded.set(event, bytes)
    return bytes
  }

  /** @param {Known} one */
  function snapshotOf (one) {
    const { generation, fields: { seq } } = one
    return Buffer.from(`event: snapshot\ndata: ${JSON.stringify(shown.snapshot(one))}\nid: ${generation}:${seq}\n\n`)
  }

  return { bytesOf, snapshotOf }
}
