/**
 * A price as server-sent events: `price`, when it has moved by as much as the viewer wants, when its status changes, or after the
 * heartbeat. Without a price that may be served it is null, and the status says why.
 *
 * Each event is the newest price, so a viewer that reads slowly skips prices, never the last one.
 *
 * @typedef {import('./decimals.js').Decimal} Decimal
 * @typedef {{ price: Decimal | null, status: string, bytes: Buffer }} Shown
 * @typedef {{ minChange: Decimal, price: Decimal | null, status: string }} Viewer `minChange`: percent; `price`: as it was last sent
 *
 * @import { ReaderParts, Stored } from 'freshet-feed/systems'
 */
import { compare, compareDistance, decimalOf } from './decimals.js'
import { eventOf } from './replies.js'

const HEARTBEAT_MS = 10_000

/** @param {Pick<ReaderParts, 'get' | 'viewers' | 'now'>} parts */
export function createPriceLive ({ get, viewers, now }) {
  const { sourceOf, close } = viewers({
    /** @param {Stored} stored @returns {Shown} */
    shown ({ key, state, seq, generation }) {
      const event = eventOf(key, { ...state, seq: String(seq) }, now())
      const bytes = Buffer.from(`event: price\ndata: ${JSON.stringify(event)}\nid: ${generation}:${seq}\n\n`)
      return { price: decimalOf(state.price), status: event.status, bytes }
    },
    /** @param {Shown} shown @param {any} stream @param {Viewer} viewer @param {(stream: any, bytes: Buffer) => void} send */
    sendTo ({ price, status, bytes }, stream, viewer, send) {
      const isBeat = performance.now() - stream.sentMs > HEARTBEAT_MS
      if (!isBeat && !hasMoved(viewer, price, status)) return viewer
      send(stream, bytes)
      return { ...viewer, price, status }
    }
  })

  return {
    /** @param {string} asset @param {number} minChange percent @throws {Error} ASSET_UNKNOWN */
    async sourceOf (asset, minChange) {
      await get(asset)
      return sourceOf(asset, { minChange: /** @type {Decimal} */ (decimalOf(String(minChange))), price: null, status: '' })
    },
    close
  }
}

/** Without a price before or now, only the status counts. @param {Viewer} viewer @param {Decimal | null} price @param {string} status */
const hasMoved = (viewer, price, status) => status !== viewer.status ||
  (price !== null && viewer.price !== null && compare(price, viewer.price) !== 0 &&
    compareDistance(price, viewer.price, viewer.minChange) >= 0)
