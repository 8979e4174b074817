/**
 * Bitstamp: https://www.bitstamp.net/api/ (Ticker)
 *
 * The reply has the last price, the volume of 24 h and the time in seconds. It names no market.
 *
 * @type {import('./exchanges.js').Adapter}
 */
export const bitstamp = {
  url: (base, asset) => `${base}/api/v2/ticker/${encodeURIComponent(asset.replaceAll('-', ''))}/`,
  read: ({ last, volume, timestamp }) => ({ price: last, volume, ts: Number(timestamp) * 1000 })
}
