/**
 * Coinbase Exchange: https://docs.cdp.coinbase.com/exchange/reference/exchangerestapi_getproductticker
 *
 * The reply has the last trade, the time of it and the volume of 24 h. It names no product. Unknown products are 404. More than 10
 * requests/s of an address are 429, without Retry-After: https://docs.cdp.coinbase.com/exchange/rest-api/rate-limits
 *
 * @type {import('./exchanges.js').Adapter}
 */
export const coinbase = {
  url: (base, asset) => `${base}/products/${encodeURIComponent(asset.toUpperCase())}/ticker`,
  read: ({ price, volume, time }) => ({ price, volume, ts: Date.parse(time) })
}
