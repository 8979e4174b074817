/**
 * A price as server-sent events: `price`, when it has moved by as much as the viewer wants, when its status changes, or after the
 * heartbeat. Without a price that may be served it is null, and the status says why.
 *
 * Each event is the newest price, so a viewer that reads slowly skips prices, never the last one.
 *
 * @typedef {import('./decimals.js').Decimal} Decimal
 * @typedef {{ minChange: Decimal, price: Decimal | null, status: string }} Viewer `minChange`: percent; `price`: as it was last sent
 */
import { compare, compareDistance, decimalOf } from './decimals.js'
import { HEARTBEAT_MS } from '../../push/index.js'
import { createKeyViewers } from '../viewers.js'
import { eventOf } from './replies.js'

/**
 * @param {{ reading: import('../reading.js').Reading, view: import('../../admission/index.js').KeyView, now: () => number,
 *   push: import('../../push/index.js').Push, log: import('pino').Logger }} parts
 */
export function createPriceLive ({ reading, now, ...parts }) {
  const { sourceOf, close } = createKeyViewers({
    ...parts,
    async read (/** @type {string} */ asset) {
      const current = await reading.current(asset)
      const event = eventOf(asset, current.fields, now())
      const bytes = Buffer.from(`event: price\ndata: ${JSON.stringify(event)}\nid: ${current.generation}:${event.seq}\n\n`)
      return { current, price: decimalOf(current.fields.price), status: event.status, bytes }
    },
    sendTo ({ price, status, bytes }, stream, /** @type {Viewer} */ viewer, send) {
      const isBeat = performance.now() - stream.sentMs > HEARTBEAT_MS
      if (!isBeat && !hasMoved(viewer, price, status)) return viewer
      send(stream, bytes)
      return { ...viewer, price, status }
    }
  })

  return {
    /** @param {string} asset @param {number} minChange percent @throws {Error} ASSET_UNKNOWN */
    async sourceOf (asset, minChange) {
      await reading.current(asset)
      return sourceOf(asset, { minChange: /** @type {Decimal} */ (decimalOf(String(minChange))), price: null, status: '' })
    },
    close
  }
}

/** Without a price before or now, only the status counts. @param {Viewer} viewer @param {Decimal | null} price @param {string} status */
const hasMoved = (viewer, price, status) => status !== viewer.status ||
  (price !== null && viewer.price !== null && compare(price, viewer.price) !== 0 &&
    compareDistance(price, viewer.price, viewer.minChange) >= 0)
