/**
 * The events of auctions as server-sent events, to any number of viewers of each.
 *
 *     event: snapshot   the auction, and its latest bids
 *     event: bid        one bid; id: <generation>:<sequence number>
 *     event: close      its end
 *     event: reset      bids may be missing; a snapshot follows
 *
 * A viewer gets every event in order, once. One that reads slowly waits at its place; when the events in memory no longer reach back to
 * it, it is reset. An event is encoded once for all viewers.
 *
 * @typedef {import('../../admission/index.js').Known} Known
 * @typedef {import('../../admission/index.js').Fields} Fields
 * @typedef {import('../../push/index.js').Stream} Stream
 * @typedef {{ generation: string, seq: number }} Place up to where a viewer has events; an empty generation: nowhere
 * @typedef {{ places: Map<Stream, Place>, watched: Known | null, unwatch: () => void, isDue: boolean }} Viewers of one auction
 */
import { EMPTY_HEARTBEAT, resetEvent } from '../../push/index.js'

const LOOK_EVERY_MS = 250
const HEARTBEAT_MS = 10_000
const SNAPSHOT_BIDS = 20
const POSITION = /^(.{1,40}):(\d{1,15})$/
const NOWHERE = Object.freeze({ generation: '', seq: 0 })

/**
 * @param {{ queries: import('./queries.js').AuctionQueries, view: import('../../admission/index.js').KeyView,
 *   push: import('../../push/index.js').Push, log: import('pino').Logger }} parts
 */
export function createLive ({ queries, view, push, log }) {
  /** @type {Map<string, Viewers>} by auction */
  const all = new Map()
  const { bytesOf, snapshotOf } = createEncoder(queries)
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
    const one = await queries.known(id)
    if (one !== viewers.watched) {
      viewers.unwatch()
      // terms may have changed
      if (Number(one.fields.seq) === 0) for (const stream of viewers.places.keys()) viewers.places.set(stream, NOWHERE)
      Object.assign(viewers, { watched: one, unwatch: view.watch(id, () => serveSoon(id)) })
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
     * @param {string} id @param {string | null} last Last-Event-ID
     * @returns {import('../../push/index.js').Source}
     */
    sourceOf (id, last) {
      const [, generation, seq] = POSITION.exec(last ?? '') ?? []
      return {
        add (stream) {
          const viewers = all.get(id) ?? { places: new Map(), watched: null, unwatch () {}, isDue: false }
          all.set(id, viewers)
          viewers.places.set(stream, generation === undefined ? NOWHERE : { generation, seq: Number(seq) })
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

/** @param {import('./queries.js').AuctionQueries} queries */
function createEncoder (queries) {
  /** @type {WeakMap<Fields, Buffer>} */
  const encoded = new WeakMap()

  /** @param {Known} one @param {Fields} event */
  function bytesOf ({ generation }, event) {
    const known = encoded.get(event)
    if (known) return known
    const name = event.type === 'close' ? 'close' : 'bid'
    const bytes = Buffer.from(`event: ${name}\ndata: ${JSON.stringify(queries.shownEvent(event))}\nid: ${generation}:${event.seq}\n\n`)
    encoded.set(event, bytes)
    return bytes
  }

  /** @param {Known} one */
  function snapshotOf (one) {
    const bids = one.events.slice(-SNAPSHOT_BIDS).reverse().map(queries.shownEvent)
    const { generation, fields: { seq } } = one
    return Buffer.from(`event: snapshot\ndata: ${JSON.stringify({ auction: queries.shown(one), bids })}\nid: ${generation}:${seq}\n\n`)
  }

  return { bytesOf, snapshotOf }
}
