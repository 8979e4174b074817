/**
 * Kraken: https://docs.kraken.com/api/docs/rest-api/get-ticker-information
 *
 * The reply names the pair, and has the last trade and the volume of 24 h, but no time; the header Date is the time of the exchange.
 * Errors have status 200: https://support.kraken.com/hc/en-us/articles/360001491786-API-error-messages
 * Names of assets are Kraken's own, such as XBT, and the oldest have a prefix in replies, such as XXBTZUSD:
 * https://support.kraken.com/hc/en-us/articles/360000920306-API-symbols-and-tickers
 *
 * @type {import('./exchanges.js').Adapter}
 */
export const kraken = {
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
