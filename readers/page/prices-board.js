/** The rows of the board: one for each asset that is shown. */
import { arrange, make, put } from './elements.js'
import { ageText, changeText, UNKNOWN } from './text.js'

/** Prices of the last minutes, by asset: from the history of the reader, then as the page sees them. */

const KEPT_MS = 900_000
/** requests at a time */
const AT_ONCE = 4
const WIDTH = 120
const HEIGHT = 24

/** @typedef {{ at: number, price: number }} Point ms since 1970 */
/** @typedef {{ asset: string, points: Point[], hasHistory?: boolean }} Pointed */

let running = 0

/** @param {Pointed} asset @param {Point} point */
function addPoint ({ points }, point) {
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
  for (const asset of all.filter(({ hasHistory }) => !hasHistory)) {
    if (running === AT_ONCE) return
    running++
    asset.hasHistory = true
    get(`/v1/prices/${encodeURIComponent(asset.asset)}/history?from=${nowMs - KEPT_MS}`).then(({ items }) => {
      const first = asset.points[0]?.at ?? Infinity
      const before = items.map((/** @type {any} */ { at, price }) => ({ at, price: Number(price) }))
        .filter((/** @type {Point} */ { at }) => at < first)
      asset.points.unshift(...before)
      trim(asset.points)
    }).catch(() => { asset.hasHistory = false }).finally(() => {
      running--
      loadHistory(all, nowMs, get)
    })
  }
}

/** @param {Point[]} points @returns {number | null} percent, from the first to the last; null = there is one price at most */
const changeOf = (points) => points.length < 2 ? null : (points[points.length - 1].price / points[0].price - 1) * 100

/** @param {Point[]} points @param {number} nowMs @returns {string} of a polyline in a box of 120 x 24 */
function lineOf (points, nowMs) {
  if (points.length === 0) return ''
  const prices = points.map(({ price }) => price)
  const [low, high] = [Math.min(...prices), Math.max(...prices)]
  const from = Math.max(points[0].at, nowMs - KEPT_MS)
  const x = (/** @type {number} */ at) => WIDTH * Math.max(0, at - from) / Math.max(1, nowMs - from)
  const y = (/** @type {number} */ price) => high === low ? HEIGHT / 2 : HEIGHT - 2 - (HEIGHT - 4) * (price - low) / (high - low)
  const line = points.map(({ at, price }) => `${x(at).toFixed(1)},${y(price).toFixed(1)}`)
  return `${line.join(' ')} ${WIDTH},${y(prices[prices.length - 1]).toFixed(1)}`
}

/**
 * @typedef {{ exchange: string, ok: boolean, reason?: string }} Source
 * @typedef {{ asset: string, tier: string, price: string | null, updatedAt: number, asOf: number, status: string, sources: Source[],
 *   dueMs: number, points: Point[], hasHistory?: boolean, movedFrom?: string, movedMs?: number,
 *   row?: any }} Asset
 *   `status`: '' = not known yet; `dueMs`: when it is asked for again
 */
const SVG = 'http://www.w3.org/2000/svg'
/** @type {Readonly<Record<string, string>>} */
const KINDS = Object.freeze({ fresh: 'good', stale: 'wait', degraded: 'wait' })
const MANY_DIGITS = 5
/** The most often refreshed first. */
export const TIERS = Object.freeze(['hot', 'medium', 'cold'])

/**
 * What rows are sorted by; equal ones stay in the order of tier and name.
 * @type {Record<string, (asset: Asset, now: number) => number | string>}
 */
const KEYS = {
  asset: ({ asset }) => asset,
  change: ({ points }) => changeOf(points) ?? -Infinity,
  age: ({ asOf }, now) => now - asOf,
  tier: ({ tier }) => TIERS.indexOf(tier),
  status: ({ status }) => Object.keys(KINDS).indexOf(status)
}

/** @param {{ body: any, heads: NodeListOf<Element> }} parts `heads` with a button each, whose data-by is a key */
export function createBoard ({ body, heads }) {
  let shown = /** @type {Asset[]} */ ([])
  const order = { by: 'tier', sign: 1 }
  for (const head of heads) head.addEventListener('click', () => choose(head))

  /** @param {any} head */
  function choose (head) {
    const { by } = head.firstElementChild.dataset
    order.sign = order.by === by ? -order.sign : 1
    order.by = by
    const direction = order.sign === 1 ? 'ascending' : 'descending'
    for (const heading of heads) heading.setAttribute('aria-sort', heading === head ? direction : 'none')
    sort(Date.now())
  }

  /** @param {number} now ms since 1970 */
  function sort (now) {
    const key = KEYS[order.by]
    const compare = (/** @type {Asset} */ a, /** @type {Asset} */ b) => {
      const [x, y] = [key(a, now), key(b, now)]
      return x === y ? 0 : x < y ? -order.sign : order.sign
    }
    arrange(body, [...shown].sort(compare).map((asset) => asset.row))
  }

  return {
    /** @param {Asset[]} assets in the order of tier and name */
    show (assets) {
      shown = assets
      for (const asset of assets) {
        asset.row ??= createRow(asset)
        write(asset)
      }
      sort(Date.now())
    },

    sort,

    /** @param {Asset} asset @param {Pick<Asset, 'price' | 'updatedAt' | 'asOf' | 'status' | 'sources'>} news */
    take (asset, news) {
      const before = Number(asset.price)
      const moved = asset.price === null || news.price === null ? 0 : Math.sign(Number(news.price) - before)
      Object.assign(asset, news)
      if (asset.price !== null) addPoint(asset, { at: asset.updatedAt, price: Number(asset.price) })
      write(asset)
      if (moved !== 0) asset.row.cells[1].className = `price ${moved > 0 ? 'up' : 'down'}`
    },

    /** Updates ages, changes and lines. @param {number} now ms since 1970 */
    tick (now) {
      for (const { row, price, asOf, points } of shown) {
        const percent = changeOf(points)
        put(row.cells[2], percent === null ? UNKNOWN : changeText(percent))
        row.cells[2].dataset.sign = percent === null ? '0' : String(Math.sign(Number(percent.toFixed(2))))
        put(row.cells[4], price === null ? UNKNOWN : ageText(now - asOf))
        row.querySelector('polyline').setAttribute('points', lineOf(points, now))
      }
    }
  }
}

/** @param {Asset} asset */
function createRow ({ asset }) {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', '0 0 120 24')
  svg.setAttribute('preserveAspectRatio', 'none')
  svg.setAttribute('aria-hidden', 'true')
  svg.append(document.createElementNS(SVG, 'polyline'))
  const row = make('tr', {}, make('th', { scope: 'row' }, asset),
    ...['price', 'change', 'line', 'age', 'tier', 'status', 'sources'].map((className) => make('td', { className })))
  row.cells[1].addEventListener('animationend', () => { row.cells[1].className = 'price' })
  row.cells[3].append(svg)
  row.cells[6].append(make('span', { className: 'state' }))
  return row
}

/** @param {Asset} asset */
function write ({ row, price, tier, status, sources }) {
  const [, priceCell,,,, tierCell, statusCell, sourcesCell] = row.cells
  put(priceCell, price === null ? UNKNOWN : priceText(Number(price)))
  priceCell.title = price ?? ''
  put(tierCell, tier)
  put(statusCell.firstElementChild, status.replaceAll('_', ' '))
  statusCell.firstElementChild.dataset.kind = KINDS[status] ?? (status === '' ? 'wait' : 'bad')
  const sourcesText = JSON.stringify(sources)
  if (sourcesCell.dataset.sources === sourcesText) return
  sourcesCell.dataset.sources = sourcesText
  sourcesCell.replaceChildren(...sources.flatMap(({ exchange, ok, reason = '' }) => ok
    ? [make('span', {}, exchange), ' ']
    : [make('s', {}, exchange), make('small', {}, ` ${reason.replaceAll('_', ' ')}`), ' ']))
}

/** @param {number} price @returns {string} two decimals, or more of a small price */
const priceText = (price) => price >= 100
  ? price.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  : price.toLocaleString('en', { minimumSignificantDigits: MANY_DIGITS, maximumSignificantDigits: MANY_DIGITS })
