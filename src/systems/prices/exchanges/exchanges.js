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

/**
 * @param {{ exchanges: readonly string[], exchangeUrls: Readonly<Record<string, string>> | null }} settings names; addresses of some of
 *   them, instead of those that they have
 * @returns {Exchange[]}
 */
export const exchangesOf = ({ exchanges, exchangeUrls }) => exchanges.map((name) => {
  const { base, adapter } = KNOWN[name]
  return { name, base: (exchangeUrls?.[name] ?? base).replace(/\/+$/, ''), adapter }
})
