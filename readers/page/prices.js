/**
 * A board of prices: a page of the assets, their prices as they change, and the sources. Times are those of the reader; the clock of the
 * visitor is only used to count between two of them.
 *
 * To ask for a price is demand, which moves assets to a higher tier. So the page asks for the prices of each tier no more often than an
 * asset of that tier may be asked for without moving up.
 */
import { at, make, put } from './elements.js'
import { createBoard, loadHistory, TIERS } from './prices-board.js'
import { BREAKERS, createFaults, get, getAll, IS_HERE, PAGE, repeat, state } from './system.js'
import { ageText, duration, number, timeOfDay, UNKNOWN } from './text.js'

/** Buttons of the tiers with their sizes, and the assets that demand moved to another tier while the page was open. */

const NAMES = ['', ...TIERS]
const MOVES = 3

/** @param {import('./prices-board.js').Asset[]} assets all @param {string} chosen '' = all @param {(tier: string) => void} onChoose */
function showTiers (assets, chosen, onChoose) {
  const group = at('tiers')
  if (group.children.length === 0) {
    group.append(...NAMES.map((name) => make('button', { type: 'button', onclick: () => onChoose(name) })))
  }
  NAMES.forEach((name, i) => {
    const size = name === '' ? assets.length : assets.filter(({ tier }) => tier === name).length
    put(group.children[i], `${name || 'all'} ${number(size)}`)
    group.children[i].setAttribute('aria-pressed', String(name === chosen))
  })
  const moved = assets.filter(({ movedMs }) => movedMs !== undefined)
    .sort((a, b) => (b.movedMs ?? 0) - (a.movedMs ?? 0)).slice(0, MOVES)
    .map(({ asset, movedFrom, tier }) => `${asset} ${movedFrom} → ${tier}`)
  if (moved.length > 0 && [...at('moved').children].map(({ textContent }) => textContent).join() !== moved.join()) {
    at('moved').replaceChildren(...moved.map((text) => make('li', {}, text)))
  }
}

/** The sources: the breaker of each, its latency, its last error; and faults of exchanges on this machine, which can be switched. */

/** Name, meaning, and what the exchange is sent; null = no fault. @type {readonly [string, string, Record<string, unknown> | null][]} */
const FAULTS = Object.freeze([
  ['none', '', null],
  ['down', ': replies 500', { errorRate: 1 }],
  ['slow', ': replies in 300 ms', { latencyMs: 300 }],
  ['hangs', ': no reply', { hang: true }],
  ['wild', ': 10 times the price', { outlier: 10 }],
  ['limited', ': replies 429', { rateLimited: 5 }]
])

/** @typedef {{ exchange: string, breaker: string, latencyMs: number | null, lastError: string | null,
 *   lastErrorAt?: number | null, url?: string }} Source */

/** @type {Map<string, any>} cards by exchange */
const cards = new Map()

/** @param {Source[]} sources */
function showSources (sources) {
  const keys = sources.map(({ exchange, url }) => `${exchange} ${url}`)
  for (const [key, card] of cards) {
    if (keys.includes(key)) continue
    card.remove()
    cards.delete(key)
  }
  sources.forEach((source, i) => {
    const card = cards.get(keys[i]) ?? createCard(source)
    if (!cards.has(keys[i])) at('exchanges').append(card)
    cards.set(keys[i], card)
    const [, breaker, figures] = card.children
    breaker.dataset.kind = BREAKERS[source.breaker]
    put(breaker, `breaker ${source.breaker}`)
    put(figures, `latency ${source.latencyMs === null ? UNKNOWN : duration(source.latencyMs)}, ${errorOf(source)}`)
  })
  at('no-sources').hidden = sources.length > 0
  at('hint').hidden = !IS_HERE || !sources.some(({ url }) => url)
}

/** @param {Source} source `lastErrorAt`: not of an older process */
const errorOf = ({ lastError, lastErrorAt }) => lastError === null
  ? 'no error so far'
  : `last error: ${lastError.replaceAll('_', ' ')}${lastErrorAt ? ` (${timeOfDay(lastErrorAt)})` : ''}`

/** @param {Source} source */
function createCard ({ exchange, url }) {
  const card = make('li', {}, make('h3', {}, exchange), make('p', { className: 'state' }), make('p', { className: 'quiet' }))
  if (url && IS_HERE) card.append(createFaults(FAULTS, url, exchange))
  return card
}

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
    const existing = assets.get(asset)
    if (existing) place(existing, tier)
    else assets.set(asset, { asset, tier, price: null, updatedAt: 0, asOf: 0, status: '', sources: [], dueMs: 0, points: [] })
  }
  arrange()
  if (all.length === 0) state('live', 'no assets')
  return LIST_EVERY_MS * Math.max(1, all.length / PAGE)
}

/** @param {Asset} entry @param {string} tier */
function place (entry, tier) {
  if (entry.tier === tier) return
  entry.movedFrom = entry.tier
  entry.movedMs = now()
  entry.tier = tier
}

/** Chooses what is shown. */
function arrange () {
  const all = [...assets.values()]
  const matches = all.filter(({ asset, tier }) => (view.tier === '' || tier === view.tier) && asset.includes(view.text)).sort(byTier)
  view.from = Math.max(0, Math.min(view.from, SHOWN * Math.floor((matches.length - 1) / SHOWN)))
  shown = matches.slice(view.from, view.from + SHOWN)
  showTiers(all, view.tier, (tier) => look({ tier, from: 0 }))
  put(at('range'), matches.length === 0 ? '' : `${view.from + 1}–${view.from + shown.length} of ${number(matches.length)}`)
  at('before').disabled = view.from === 0
  at('next').disabled = view.from + SHOWN >= matches.length
  at('no-assets').hidden = all.length > 0
  at('none').hidden = matches.length > 0 || all.length === 0
  board.show(shown)
}

async function prices () {
  const nowMs = performance.now()
  const due = shown.filter(({ dueMs }) => dueMs <= nowMs)
  if (due.length === 0) return EVERY_MS
  const { items, asOf } = await get(`/v1/prices?assets=${due.map(({ asset }) => encodeURIComponent(asset))}`)
  aheadMs = asOf - Date.now()
  for (const { asset, ...news } of items) {
    const entry = assets.get(asset)
    if (!entry) continue
    place(entry, news.tier ?? entry.tier)
    entry.dueMs = nowMs + (news.price ? AGAIN_MS[entry.tier] : NO_PRICE_AGAIN_MS) - EVERY_MS / 2
    board.take(entry, { price: null, ...news, sources: news.failed?.sources ?? news.sources ?? [] })
  }
  state('live', 'live')
  facts()
  tick()
  board.sort(now())
  loadHistory(shown, asOf, get)
  return EVERY_MS
}

function facts () {
  const count = (/** @type {string} */ status) => number(shown.filter((entry) => entry.status === status).length)
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
