/** Prices of the last minutes, by asset: from the history of the reader, then as the page sees them. */

const KEPT_MS = 900_000
/** requests at a time */
const AT_ONCE = 4
const WIDTH = 120
const HEIGHT = 24

/** @typedef {{ at: number, price: number }} Point ms since 1970 */
/** @typedef {{ asset: string, points: Point[], hasHistory?: boolean }} Pointed */

let running = 0

/** @param {Pointed} one @param {Point} point */
export function addPoint ({ points }, point) {
  if (point.at <= (points.at(-1)?.at ?? 0)) return
  points.push(point)
  trim(points)
}

/** The first one may be older: it is the price at the beginning of the time. @param {Point[]} points */
function trim (points) {
  const from = (points.at(-1)?.at ?? 0) - KEPT_MS
  while (points.length > 2 && points[1].at <= from) points.shift()
}

/**
 * Loads histories that are missing, a few at a time.
 * @param {Pointed[]} all @param {number} nowMs @param {(path: string) => Promise<any>} get
 */
export function loadHistory (all, nowMs, get) {
  for (const one of all.filter(({ hasHistory }) => !hasHistory)) {
    if (running === AT_ONCE) return
    running++
    one.hasHistory = true
    get(`/v1/prices/${encodeURIComponent(one.asset)}/history?from=${nowMs - KEPT_MS}`).then(({ items }) => {
      const first = one.points[0]?.at ?? Infinity
      const before = items.map((/** @type {any} */ { at, price }) => ({ at, price: Number(price) }))
        .filter((/** @type {Point} */ { at }) => at < first)
      one.points.unshift(...before)
      trim(one.points)
    }).catch(() => { one.hasHistory = false }).finally(() => {
      running--
      loadHistory(all, nowMs, get)
    })
  }
}

/** @param {Point[]} points @returns {number | null} percent, from the first to the last; null = there is one price at most */
export const changeOf = (points) => points.length < 2 ? null : (points[points.length - 1].price / points[0].price - 1) * 100

/** @param {Point[]} points @param {number} nowMs @returns {string} of a polyline in a box of 120 x 24 */
export function lineOf (points, nowMs) {
  if (points.length === 0) return ''
  const prices = points.map(({ price }) => price)
  const [low, high] = [Math.min(...prices), Math.max(...prices)]
  const from = Math.max(points[0].at, nowMs - KEPT_MS)
  const x = (/** @type {number} */ at) => WIDTH * Math.max(0, at - from) / Math.max(1, nowMs - from)
  const y = (/** @type {number} */ price) => high === low ? HEIGHT / 2 : HEIGHT - 2 - (HEIGHT - 4) * (price - low) / (high - low)
  const line = points.map(({ at, price }) => `${x(at).toFixed(1)},${y(price).toFixed(1)}`)
  return `${line.join(' ')} ${WIDTH},${y(prices[prices.length - 1]).toFixed(1)}`
}
