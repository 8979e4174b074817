/**
 * Prices of a time range: from the event stream of the asset, and what is older from the history store.
 *
 * @typedef {Pick<import('freshet-feed/systems').ReaderParts, 'events'> & { store: import('./queries.js').Store | null }} Own `store`: null:
 *   there is none
 * @typedef {import('freshet-feed/systems').Event} Event
 * @typedef {{ at: number, price: string, seq: number }} Point `at`: ms since 1970; `price`: decimal text, as it was stored
 * @typedef {{ at: number, open: string, high: string, low: string, close: string, points: number }} Candle `at`: its beginning
 */
import { compare, decimalOf } from './decimals.js'

const MAX_POINTS = 10_000

/**
 * @param {Event[]} events all that are kept, the oldest first @param {Own['store']} store
 * @param {string} asset @param {number} from @param {number} to ms since 1970
 * @returns {Promise<Point[]>}
 */
async function pointsOf (events, store, asset, from, to) {
  const all = events.filter(({ type }) => type === 'price').map(({ at, price, seq }) => ({ at: Number(at), price: String(price), seq }))
  const points = all.filter(({ at }) => at >= from && at <= to)
  if (store === null || (all.length > 0 && all[0].at <= from)) return points
  const last = all.length > 0 ? Math.min(to, all[0].at - 1) : to
  const older = await store.history(asset, from, last, MAX_POINTS).catch((error) => {
    // its first event is here, so most likely there is nothing older
    if (events[0]?.seq !== 1) throw error
    return []
  })
  return [...older, ...points]
}

/**
 * @param {Own} own @param {string} asset @param {{ from: number, to: number, stepMs: number | null }} range ms since 1970, both included
 * @returns {Promise<{ asset: string, items: object[] }>} the newest 10,000 prices, the oldest of them first, or open, high, low and close
 *   of each step
 * @throws {FreshetError} ASSET_UNKNOWN
 */
export async function historyOf ({ events: read, store }, asset, { from, to, stepMs }) {
  let unknown = null
  const events = await read(asset, { after: 0, limit: MAX_POINTS }).catch((error) => {
    if (error.code !== 'ASSET_UNKNOWN') throw error
    // the store has what the servers may have lost
    unknown = error
    return []
  })
  const points = (await pointsOf(events, store, asset, from, to)).slice(-MAX_POINTS)
  if (points.length === 0 && unknown) throw unknown
  return { asset, items: stepMs === null ? points : candles(points, stepMs) }
}

/**
 * Steps begin at multiples of `stepMs`. A step without a price has no candle.
 * @param {Pick<Point, 'at' | 'price'>[]} points in order of time @param {number} stepMs @returns {Candle[]}
 */
export function candles (points, stepMs) {
  /** @type {Candle[]} */
  const all = []
  for (const { at, price } of points) {
    const begin = Math.floor(at / stepMs) * stepMs
    const last = all.at(-1)
    if (last?.at !== begin) {
      all.push({ at: begin, open: price, high: price, low: price, close: price, points: 1 })
      continue
    }
    if (isLess(last.high, price)) last.high = price
    if (isLess(price, last.low)) last.low = price
    last.close = price
    last.points++
  }
  return all
}

/** @param {string} one @param {string} other prices, as they were stored */
const isLess = (one, other) => compare(read(one), read(other)) < 0
const read = (/** @type {string} */ price) => /** @type {import('./decimals.js').Decimal} */ (decimalOf(price))
