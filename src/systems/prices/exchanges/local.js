/** The exchanges of `npm start exchanges` (bin/exchanges/server.js). @type {import('./exchanges.js').Adapter} */
export const local = {
  url: (base, asset) => `${base}/ticker/${encodeURIComponent(asset)}`,
  read: ({ symbol, price, volume, ts }, asset) => symbol === asset ? { price, volume, ts } : 'wrong_symbol'
}
