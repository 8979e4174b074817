/**
 * A sale as server-sent events: `sale`, its numbers, when they change, and `place`, where one person is in the queue.
 *
 * Each event is the newest state, so one that reads slowly skips states, never the last one. An event of a sale is encoded once for all
 * viewers.
 *
 * @typedef {import('../../push/index.js').Stream} Stream
 */
import { EMPTY_HEARTBEAT } from '../../push/index.js'

const SEND_EVERY_MS = 100
const LOOK_EVERY_MS = 1000
const HEARTBEAT_MS = 10_000

/**
 * @param {{ queries: import('./queries.js').SaleQueries, room: import('../../waiting-room/index.js').WaitingRoom,
 *   push: import('../../push/index.js').Push, log: import('pino').Logger }} parts
 */
export function createSaleLive ({ queries, room, push, log }) {
  /**
   * By sale; `streams` with the last state that each got.
   * @type {Map<string, { streams: Map<Stream, string>, timer: NodeJS.Timeout, isDue: boolean }>}
   */
  const all = new Map()

  /** @param {Stream} stream @param {Buffer} bytes of one event */
  function send (stream, bytes) {
    stream.send(bytes)
    push.counts.events++
    push.counts.bytes += bytes.length
  }

  /** @param {string} id */
  async function serve (id) {
    const viewers = all.get(id)
    if (!viewers) return
    viewers.isDue = false
    try {
      const { asOf, ...sale } = await queries.sale(id, 0)
      const state = JSON.stringify(sale)
      const bytes = Buffer.from(`event: sale\ndata: ${JSON.stringify({ ...sale, asOf })}\nid: ${sale.generation}:${sale.seq}\n\n`)
      const nowMs = performance.now()
      for (const [stream, last] of viewers.streams) {
        if (!stream.hasRoom()) stream.endIfStuck(nowMs)
        else if (last !== state) {
          send(stream, bytes)
          viewers.streams.set(stream, state)
        } else if (nowMs - stream.sentMs > HEARTBEAT_MS) stream.send(EMPTY_HEARTBEAT)
      }
    } catch (error) {
      log.debug({ id, code: error.code, reason: error.message }, 'viewers of a sale wait for the servers')
    }
    if (all.get(id) === viewers) viewers.timer = setTimeout(() => { serve(id) }, viewers.isDue ? SEND_EVERY_MS : LOOK_EVERY_MS)
  }

  /** @param {string} id */
  function note (id) {
    const viewers = all.get(id)
    if (!viewers || viewers.isDue) return
    viewers.isDue = true
    clearTimeout(viewers.timer)
    viewers.timer = setTimeout(() => { serve(id) }, SEND_EVERY_MS)
  }

  return {
    /** The sale changed. @param {string} id */
    note,

    /** @param {string} id @returns {import('../../push/index.js').Source} */
    sourceOf: (id) => ({
      add (stream) {
        const viewers = all.get(id) ?? { streams: new Map(), timer: setTimeout(() => { serve(id) }, 0), isDue: false }
        all.set(id, viewers)
        viewers.streams.set(stream, '')
        note(id)
      },
      remove (stream) {
        const viewers = all.get(id)
        viewers?.streams.delete(stream)
        if (viewers?.streams.size !== 0) return
        clearTimeout(viewers.timer)
        all.delete(id)
      }
    }),

    /** @param {string} id @param {string} user @returns {import('../../push/index.js').Source} */
    placeSourceOf (id, user) {
      let end = () => {}
      return {
        add (stream) {
          const timer = setInterval(() => {
            if (performance.now() - stream.sentMs > HEARTBEAT_MS) stream.send(EMPTY_HEARTBEAT)
          }, HEARTBEAT_MS / 2).unref()
          const unwatch = room.watch(id, user, (place) => {
            send(stream, Buffer.from(`event: place\ndata: ${JSON.stringify(queries.shownPlace(place))}\n\n`))
          })
          end = () => {
            clearInterval(timer)
            unwatch()
          }
        },
        remove: () => end()
      }
    },

    close () {
      for (const { timer } of all.values()) clearTimeout(timer)
      all.clear()
    }
  }
}
