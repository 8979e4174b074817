/**
 * A price as server-sent events: `price`, when it has moved by as much as the viewer wants, when its status changes, or after the
 * heartbeat. Without a price that may be served it is null, and the status says why.
 *
 * Each event is the newest price, so a viewer that reads slowly skips prices, never the last one.
 *
 * @typedef {import('../../push/index.js').Stream} Stream
 * @typedef {{ minChange: number, price: number, status: string }} Viewer `minChange`: percent; `price`: as it was last sent, NaN = nothing
 * @typedef {{ streams: Map<Stream, Viewer>, watched: object | null, unwatch: () => void, isDue: boolean }} Viewers of one asset
 */
import { EMPTY_HEARTBEAT } from '../../push/index.js'
import { isUsable, missing, statusOf, STATUSES } from './replies.js'

const LOOK_EVERY_MS = 250
const HEARTBEAT_MS = 10_000

/**
 * @param {{ queries: import('./queries.js').PriceQueries, view: import('../../admission/index.js').KeyView, now: () => number,
 *   push: import('../../push/index.js').Push, log: import('pino').Logger }} parts
 */
export function createPriceLive ({ queries, view, now, push, log }) {
  /** @type {Map<string, Viewers>} by asset */
  const all = new Map()
  const timer = setInterval(() => { for (const asset of all.keys()) serveSoon(asset) }, LOOK_EVERY_MS).unref()

  /** @param {string} asset @param {Viewers} viewers */
  async function serve (asset, viewers) {
    const known = await queries.known(asset)
    // the last viewer may have left
    if (all.get(asset) !== viewers) return
    if (known !== viewers.watched) {
      viewers.unwatch()
      Object.assign(viewers, { watched: known, unwatch: view.watch(asset, () => serveSoon(asset)) })
    }
    const { price, ts, asOf = ts, tier, seq } = known.fields
    const isPrice = isUsable(known.fields, now())
    const status = isPrice ? statusOf(known.fields, now()) : STATUSES[missing(known.fields).code]
    const [updatedAt, asOfMs] = ts === '0' ? [null, null] : [Number(ts), Number(asOf)]
    const event = { asset, price: isPrice ? price : null, updatedAt, asOf: asOfMs, tier, status, version: Number(seq) }
    const bytes = Buffer.from(`event: price\ndata: ${JSON.stringify(event)}\nid: ${known.generation}:${seq}\n\n`)
    const nowMs = performance.now()
    for (const [stream, viewer] of viewers.streams) {
      const isBeat = nowMs - stream.sentMs > HEARTBEAT_MS
      if (!stream.hasRoom()) stream.endIfStuck(nowMs)
      else if (isBeat || hasMoved(viewer, Number(price), status)) {
        stream.send(bytes)
        push.counts.events++
        push.counts.bytes += bytes.length
        Object.assign(viewer, { price: Number(price), status })
      }
    }
  }

  /** Several changes of one turn are sent together. @param {string} asset */
  function serveSoon (asset) {
    const viewers = all.get(asset)
    if (!viewers || viewers.isDue) return
    viewers.isDue = true
    setImmediate(() => {
      serve(asset, viewers).catch((error) => {
        log.debug({ asset, code: error.code, reason: error.message }, 'viewers of a price wait for the servers')
        for (const stream of viewers.streams.keys()) {
          if (performance.now() - stream.sentMs > HEARTBEAT_MS) stream.send(EMPTY_HEARTBEAT)
        }
      }).finally(() => { viewers.isDue = false })
    })
  }

  return {
    /** @param {string} asset @param {number} minChange percent @returns {import('../../push/index.js').Source} */
    sourceOf: (asset, minChange) => ({
      add (stream) {
        const viewers = all.get(asset) ?? { streams: new Map(), watched: null, unwatch () {}, isDue: false }
        all.set(asset, viewers)
        viewers.streams.set(stream, { minChange, price: NaN, status: '' })
        serveSoon(asset)
      },
      remove (stream) {
        const viewers = all.get(asset)
        viewers?.streams.delete(stream)
        if (viewers?.streams.size !== 0) return
        viewers.unwatch()
        all.delete(asset)
      }
    }),

    close () { clearInterval(timer) }
  }
}

/** @param {Viewer} viewer @param {number} price @param {string} status */
const hasMoved = (viewer, price, status) => status !== viewer.status ||
  (price !== viewer.price && !(Math.abs(price / viewer.price - 1) * 100 < viewer.minChange))
