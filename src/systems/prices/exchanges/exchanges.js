/**
 * The exchanges that prices come from. Each is an adapter: the address of a ticker, and what its reply says.
 *
 * @typedef {{ url: (base: string, asset: string) => string,
 *   read: (json: any, asset: string, sentMs: number) => { price: any, volume: any, ts: number } | string }} Adapter
 *   `read`: a text is the reason why there is no price; it may throw, and leaves types to the caller (sources/call.js). `sentMs`: header
 *   Date of the reply, ms since 1970, or NaN
 * @typedef {{ name: string, base: string, adapter: Adapter }} Exchange
 */
import { bitstamp } from './bitstamp.js'
import { coinbase } from './coinbase.js'
import { kraken } from './kraken.js'
import { local } from './local.js'

/** @type {Readonly<Record<string, { base: string, adapter: Adapter }>>} */
const KNOWN = Object.freeze({
  alpha: { base: 'http://127.0.0.1:8090', adapter: local },
  beta: { base: 'http://127.0.0.1:8091', adapter: local },
  gamma: { base: 'http://127.0.0.1:8092', adapter: local },
  coinbase: { base: 'https://api.exchange.coinbase.com', adapter: coinbase },
  kraken: { base: 'https://api.kraken.com', adapter: kraken },
  bitstamp: { base: 'https://www.bitstamp.net', adapter: bitstamp }
})

const LOCAL = Object.freeze(['alpha', 'beta', 'gamma'])

/**
 * @param {{ exchanges: readonly string[], exchangeUrls: readonly string[] | null }} settings `exchanges`: names, or only `local`;
 *   `exchangeUrls`: name=URL, where it is not the usual one
 * @returns {Exchange[]}
 */
export function exchangesOf ({ exchanges, exchangeUrls }) {
  const own = new Map((exchangeUrls ?? []).map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
  return (exchanges[0] === 'local' ? LOCAL : exchanges).map((name) => {
    const { base, adapter } = KNOWN[name]
    return { name, base: (own.get(name) ?? base).replace(/\/+$/, ''), adapter }
  })
}
