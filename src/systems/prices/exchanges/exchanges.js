/**
 * The exchanges that prices come from. Each has an adapter: the address of a ticker, and what its reply says.
 *
 * @typedef {{ url: (base: string, asset: string) => string,
 *   read: (json: any, asset: string, sentMs: number) => { price: any, volume: any, ts: number } | string }} Adapter
 *   `read`: a text is the reason why there is no price; it may throw, and leaves types to the caller (sources/call.js). `sentMs`: header
 *   Date of the reply, ms since 1970, or NaN
 * @typedef {{ name: string, base: string, adapter: Adapter }} Exchange
 */
import { namesIn } from '../settings.js'

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
  url: (base, asset) => `${base}/0/public/Ticker?pair=${encodeURIComponent(partsOf(asset).join(''))}`,
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
  url: (base, asset) => `${base}/ticker/${encodeURIComponent(asset)}`,
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
  url: (base, asset) => `${base}/products/${encodeURIComponent(asset.toUpperCase())}/ticker`,
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
  url: (base, asset) => `${base}/api/v2/ticker/${encodeURIComponent(asset.replaceAll('-', ''))}/`,
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
