/**
 * A board of prices: a page of the assets, their prices as they change, and the sources. Times are those of the reader; the clock of the
 * visitor is only used to count between two of them.
 *
 * To ask for a price is demand, which moves assets to a higher tier. So the page asks for the prices of each tier no more often than an
 * asset of that tier may be asked for without moving up.
 */
import { at, put } from './elements.js'
import { createBoard, TIERS } from './prices-board.js'
import { loadHistory } from './prices-points.js'
import { showSources } from './prices-sources.js'
import { get, getAll, PAGE, repeat, state } from './system.js'
import { ageText, number } from './text.js'
import { showTiers } from './prices-tiers.js'

const SHOWN = 50
const EVERY_MS = 1000
/** between two requests for the same price @type {Readonly<Record<string, number>>} */
const AGAIN_MS = Object.freeze({ hot: 1000, medium: 5000, cold: 30_000 })
const NO_PRICE_AGAIN_MS = 5000
const LIST_EVERY_MS = 3000
const TICK_MS = 250

/** @typedef {import('./prices-board.js').Asset} Asset */

/** @type {Map<string, Asset>} */
const assets = new Map()
const board = createBoard({ body: at('rows'), heads: document.querySelectorAll('th[aria-sort]') })
/** what is shown: of this tier ('' = all), that contains this text, from this one on */
const view = { tier: '', text: '', from: 0 }
/** reader's clock minus that of the visitor */
let aheadMs = 0
/** @type {Asset[]} */
let shown = []

const now = () => Date.now() + aheadMs
const byTier = (/** @type {Asset} */ a, /** @type {Asset} */ b) =>
  TIERS.indexOf(a.tier) - TIERS.indexOf(b.tier) || (a.asset < b.asset ? -1 : 1)

async function list () {
  /** @type {{ asset: string, tier: string }[]} */
  const all = await getAll('/v1/assets')
  const names = new Set(all.map(({ asset }) => asset))
  for (const name of assets.keys()) if (!names.has(name)) assets.delete(name)
  for (const { asset, tier } of all) {
    const known = assets.get(asset)
    if (known) place(known, tier)
    else assets.set(asset, { asset, tier, price: null, updatedAt: 0, asOf: 0, status: '', sources: [], dueMs: 0, points: [] })
  }
  arrange()
  if (all.length === 0) state('live', 'no assets')
  return LIST_EVERY_MS * Math.max(1, all.length / PAGE)
}

/** @param {Asset} one @param {string} tier */
function place (one, tier) {
  if (one.tier === tier) return
  one.movedFrom = one.tier
  one.movedMs = now()
  one.tier = tier
}

/** Chooses what is shown. */
function arrange () {
  const all = [...assets.values()]
  const found = all.filter(({ asset, tier }) => (view.tier === '' || tier === view.tier) && asset.includes(view.text)).sort(byTier)
  view.from = Math.max(0, Math.min(view.from, SHOWN * Math.floor((found.length - 1) / SHOWN)))
  shown = found.slice(view.from, view.from + SHOWN)
  showTiers(all, view.tier, (tier) => look({ tier, from: 0 }))
  put(at('range'), found.length === 0 ? '' : `${view.from + 1}–${view.from + shown.length} of ${number(found.length)}`)
  at('before').disabled = view.from === 0
  at('next').disabled = view.from + SHOWN >= found.length
  at('no-assets').hidden = all.length > 0
  at('none').hidden = found.length > 0 || all.length === 0
  board.show(shown)
}

async function prices () {
  const nowMs = performance.now()
  const due = shown.filter(({ dueMs }) => dueMs <= nowMs)
  if (due.length === 0) return EVERY_MS
  const { items, asOf } = await get(`/v1/prices?assets=${due.map(({ asset }) => encodeURIComponent(asset))}`)
  aheadMs = asOf - Date.now()
  for (const { asset, ...news } of items) {
    const one = assets.get(asset)
    if (!one) continue
    place(one, news.tier ?? one.tier)
    one.dueMs = nowMs + (news.price ? AGAIN_MS[one.tier] : NO_PRICE_AGAIN_MS) - EVERY_MS / 2
    board.take(one, { price: null, ...news, sources: news.failed?.sources ?? news.sources ?? [] })
  }
  state('live', 'live')
  facts()
  tick()
  board.sort(now())
  loadHistory(shown, asOf, get)
  return EVERY_MS
}

function facts () {
  const count = (/** @type {string} */ status) => number(shown.filter((one) => one.status === status).length)
  for (const status of ['fresh', 'stale', 'degraded']) put(at(status), count(status))
  put(at('missing'), number(shown.filter(({ price, status }) => price === null && status !== '').length))
}

function tick () {
  board.tick(now())
  const times = shown.filter(({ price }) => price !== null).map(({ asOf }) => asOf)
  put(at('oldest'), times.length === 0 ? '–' : ageText(now() - Math.min(...times)))
}

/** @param {Partial<typeof view>} change */
function look (change) {
  Object.assign(view, change)
  arrange()
  tick()
  facts()
}

at('find').addEventListener('input', () => look({ text: at('find').value.trim().toLowerCase(), from: 0 }))
at('before').addEventListener('click', () => look({ from: view.from - SHOWN }))
at('next').addEventListener('click', () => look({ from: view.from + SHOWN }))
setInterval(tick, TICK_MS)
repeat(list)
repeat(prices)
repeat(async () => {
  showSources((await get('/v1/sources')).items)
  return EVERY_MS
})
