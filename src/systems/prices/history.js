/**
 * Prices of a time range: from the event stream of the asset, and what is older from the history store.
 */
import { candles } from './candles.js'

const MAX_POINTS = 10_000

/** @typedef {{ reading: import('../reading.js').Reading, store: import('./queries.js').Store | null }} Own `store`: null = there is none */

/** @param {Own} own @param {string} asset @param {number} from @param {number} to ms since 1970 */
async function pointsOf ({ reading, store }, asset, from, to) {
  const events = await reading.events(asset, 'XRANGE', '-', '+')
  const all = events.filter(({ type }) => type === 'price').map(({ at, price, seq }) => ({ at: Number(at), price, seq: Number(seq) }))
  const points = all.filter(({ at }) => at >= from && at <= to)
  if (store === null || (all.length > 0 && all[0].at <= from)) return points
  const last = all.length > 0 ? Math.min(to, all[0].at - 1) : to
  const older = await store.history(asset, from, last, MAX_POINTS).catch((error) => {
    // its first event is here, so most likely there is nothing older
    if (events[0]?.seq !== '1') throw error
    return []
  })
  return [...older, ...points]
}

/**
 * @param {Own} own @param {string} asset @param {{ from: number, to: number, stepMs: number | null }} range ms since 1970
 * @returns {Promise<{ asset: string, items: object[] }>} the newest 10,000 prices, the oldest of them first, or open, high, low and close
 *   of each step
 * @throws {FreshetError} ASSET_UNKNOWN
 */
export async function historyOf (own, asset, { from, to, stepMs }) {
  const points = (await pointsOf(own, asset, from, to)).slice(-MAX_POINTS)
  if (points.length === 0) await own.reading.current(asset)
  return { asset, items: stepMs === null ? points : candles(points, { from, to, stepMs }) }
}
