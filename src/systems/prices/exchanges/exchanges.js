/**
 * The exchanges that prices come from. Each has an adapter: the path of a ticker, and what its reply says.
 *
 * @typedef {{ path: (asset: string) => string,
 *   read: (json: any, asset: string, sentMs: number) => { price: any, volume: any, ts: number } | string }} Adapter
 *   `read`: a text is the reason why there is no price; it may throw, and leaves types to the caller (sources/own.js). `sentMs`: header
 *   Date of the reply, ms since 1970, or NaN
 * @typedef {{ name: string, base: string, adapter: Adapter }} Exchange
 */
import { namesIn } from '../settings.js'

/**
 * Prices of the local exchanges: pure functions of (seed, exchange, symbol, tick), so that a checker can compute every price again. A tick
 * is the number of periods of `tickMs` since 1970.
 *
 * The price of a symbol is its base price, 0.01 to 100,000 (of well-known coins, the usual one), times a sum of noises with different
 * periods. Each noise is smooth: random values at the multiples of its period, and a curve between them. All operations are exact in every
 * engine, so there is no Math.sin. Bounds that follow from the amplitudes:
 * within a minute a price changes by less than 4 %, and exchanges differ by less than 0.5 %.
 *
 * A coin has one price: in another currency, btc-eur, it is that in dollars times a constant rate.
 *
 * @typedef {{ price: string, volume: string, ts: number }} Ticker decimal texts; `ts`: start of the tick, ms since 1970
 */

/** The noises of a price: period in ms, and amplitude as a share of the base price. */
const WALK = Object.freeze([[3_600_000, 0.1], [300_000, 0.02], [20_000, 0.004]])
/** The noise that each exchange adds. */
const SPREAD = Object.freeze([120_000, 0.002])
const VOLUME = Object.freeze([600_000, 0.5])
/** Magnitudes of base prices, and the decimals of each. */
const SIZES = Object.freeze([0.01, 0.1, 1, 10, 100, 1_000, 10_000])
const DECIMALS = Object.freeze([7, 6, 5, 4, 3, 2, 2])
/** The price of a dollar in each currency. */
const RATES = new Map(Object.entries({ usd: 1, eur: 0.86, gbp: 0.75, jpy: 155, chf: 0.8 }))
/** Base prices of well-known coins, in dollars. */
const DOLLARS = new Map(Object.entries({
  btc: 95_000, eth: 3_200, bnb: 880, sol: 160, aave: 190, ltc: 95, link: 15, xrp: 2.2, ada: 0.6, doge: 0.18, usdt: 1, usdc: 1, dai: 1
}))

/**
 * @param {{ seed: number, exchange: string, symbol: string, tick: number, tickMs: number }} of `tick`: time / tickMs, rounded down
 * @returns {Ticker}
 */
export function syntheticTick ({ seed, exchange, symbol, tick, tickMs }) {
  const ts = tick * tickMs
  const [, coin, currency] = /^(.+)-(usd|eur|gbp|jpy|chf)$/.exec(symbol) ?? ['', symbol, 'usd']
  const asset = hashOf(`${seed}:${coin}-usd`)
  const own = hashOf(`${seed}:${symbol}:${exchange}`)
  const inDollars = DOLLARS.get(coin) ?? (1 + 9 * share(asset, 2)) * SIZES[mixed(asset, 1) % SIZES.length]
  const base = inDollars * Number(RATES.get(currency))
  const size = Math.max(0, SIZES.findLastIndex((least) => base >= least))
  const walk = WALK.reduce((sum, [periodMs, amplitude], i) => sum + amplitude * noise(asset + i, ts / periodMs), 1)
  const price = base * (walk + SPREAD[1] * noise(own, ts / SPREAD[0]))
  const volume = (10 + 990 * share(own, 3)) * (1 + VOLUME[1] * noise(own + 1, ts / VOLUME[0]))
  return { price: price.toFixed(DECIMALS[size]), volume: volume.toFixed(3), ts }
}

/** @param {number} seed @param {number} at @returns {number} -1 to 1, smooth in `at` */
function noise (seed, at) {
  const knot = Math.floor(at)
  const part = at - knot
  const [from, to] = [share(seed, knot), share(seed, knot + 1)]
  return 2 * (from + (to - from) * part * part * (3 - 2 * part)) - 1
}

/** @param {number} seed @param {number} n @returns {number} 0 to 1 */
const share = (seed, n) => mixed(seed, n) / 0xffffffff

/** FNV-1a. @param {string} text @returns {number} 32 bits */
function hashOf (text) {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/** The finalizer of MurmurHash3. @param {number} seed @param {number} n @returns {number} 32 bits */
function mixed (seed, n) {
  let hash = seed ^ Math.imul(n, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * Kraken: https://docs.kraken.com/api/docs/rest-api/get-ticker-information
 *
 * The reply names the pair, and has the last trade and the volume of 24 h, but no time; the header Date is the time of the exchange.
 * Errors have status 200: https://support.kraken.com/hc/en-us/articles/360001491786-API-error-messages
 * Names of assets are Kraken's own, such as XBT, and the oldest have a prefix in replies, such as XXBTZUSD:
 * https://support.kraken.com/hc/en-us/articles/360000920306-API-symbols-and-tickers
 *
 * @type {Adapter}
 */
const kraken = {
  path: (asset) => `/0/public/Ticker?pair=${encodeURIComponent(partsOf(asset).join(''))}`,
  read ({ error, result }, asset, sentMs) {
    if (error.length > 0) return reasonOf(error)
    const [name] = Object.keys(result)
    if (!namesOf(asset).includes(name)) return 'wrong_symbol'
    const { c: [price], v: [, volume] } = result[name]
    return { price, volume, ts: sentMs }
  }
}

const OWN_NAMES = new Map([['BTC', 'XBT'], ['DOGE', 'XDG']])
const PREFIXES = ['', 'X', 'Z']

/** @param {string} asset */
const partsOf = (asset) => asset.toUpperCase().split('-').map((part) => OWN_NAMES.get(part) ?? part)

/** @param {string} asset @returns {string[]} with and without prefixes */
const namesOf = (asset) => partsOf(asset)
  .reduce((names, part) => names.flatMap((name) => PREFIXES.map((prefix) => name + prefix + part)), [''])

/** @param {string[]} errors @returns {string} */
function reasonOf (errors) {
  const text = errors.join(' ')
  if (text.includes('Unknown asset pair')) return 'not_found'
  return /Rate limit exceeded|Too many requests|Throttled/.test(text) ? 'rate_limited' : 'exchange_error'
}

/** The exchanges of `npm start exchanges` (demo/exchanges/server.js). @type {Adapter} */
const local = {
  path: (asset) => `/ticker/${encodeURIComponent(asset)}`,
  read: ({ symbol, price, volume, ts }, asset) => symbol === asset ? { price, volume, ts } : 'wrong_symbol'
}

/**
 * Coinbase Exchange: https://docs.cdp.coinbase.com/exchange/reference/exchangerestapi_getproductticker
 *
 * The reply has the last trade, the time of it and the volume of 24 h. It names no product. Unknown products are 404. More than 10
 * requests/s of an address are 429, without Retry-After: https://docs.cdp.coinbase.com/exchange/rest-api/rate-limits
 *
 * @type {Adapter}
 */
const coinbase = {
  path: (asset) => `/products/${encodeURIComponent(asset.toUpperCase())}/ticker`,
  read: ({ price, volume, time }) => ({ price, volume, ts: Date.parse(time) })
}

/**
 * Bitstamp: https://www.bitstamp.net/api/ (Ticker)
 *
 * The reply has the last price, the volume of 24 h and the time in seconds. It names no market.
 *
 * @type {Adapter}
 */
const bitstamp = {
  path: (asset) => `/api/v2/ticker/${encodeURIComponent(asset.replaceAll('-', ''))}/`,
  read: ({ last, volume, timestamp }) => ({ price: last, volume, ts: Number(timestamp) * 1000 })
}

/** @type {Readonly<Record<string, { base: string, adapter: Adapter }>>} */
const KNOWN = Object.freeze({
  alpha: { base: 'http://127.0.0.1:8090', adapter: local },
  beta: { base: 'http://127.0.0.1:8091', adapter: local },
  gamma: { base: 'http://127.0.0.1:8092', adapter: local },
  coinbase: { base: 'https://api.exchange.coinbase.com', adapter: coinbase },
  kraken: { base: 'https://api.kraken.com', adapter: kraken },
  bitstamp: { base: 'https://www.bitstamp.net', adapter: bitstamp }
})

/**
 * @param {{ exchanges: readonly string[], exchangeUrls: readonly string[] | null }} settings `exchanges`: names or `local`, and
 *   paths of modules, which are others' (sources/own.js); `exchangeUrls`: name=URL, where it is not the usual one
 * @returns {Exchange[]}
 */
export function exchangesOf ({ exchanges, exchangeUrls }) {
  const own = new Map((exchangeUrls ?? []).map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
  return namesIn(exchanges).map((name) => {
    const { base, adapter } = KNOWN[name]
    return { name, base: (own.get(name) ?? base).replace(/\/+$/, ''), adapter }
  })
}
