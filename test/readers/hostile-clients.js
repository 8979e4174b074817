/**
 * A process of clients that take as much of a reader as they can: `node hostile-clients.js URL CONNECTIONS FEED,FEED [KIND,KIND]`.
 * The kinds take turns; a connection that ends is opened again.
 */
import { connect } from 'node:net'

const REOPEN_MS = 1000
const REPEAT_MS = 200

/** @typedef {{ reads: 'nothing' | 'slowly' | 'all', write: (feed: string, n: number) => string }} Kind `write`: requests of connection n */

const get = (path, ...headers) => ['GET ' + path + ' HTTP/1.1', 'Host: x', ...headers].join('\r\n') + '\r\n\r\n'
const items = (feed, query) => `/v1/feeds/${feed}/items?${query}`
const GZIP = 'Accept-Encoding: gzip'
const NDJSON = 'Accept: application/x-ndjson'
const some = (count, make) => Array.from({ length: count }, (_, i) => make(i)).join('')

/** @type {Record<string, Kind>} */
const KINDS = {
  pipelined: { reads: 'nothing', write: (feed, n) => some(900, (i) => get(items(feed, `limit=${1 + (n + i) % 10_000}`))) },
  'pipelined and read': { reads: 'all', write: (feed, n) => some(200, (i) => get(items(feed, `limit=${1 + (n * 7 + i * 50) % 10_000}`))) },
  pages: { reads: 'nothing', write: (feed, n) => get(items(feed, `limit=10000&since=${n}`)) },
  'pages read slowly': { reads: 'slowly', write: (feed, n) => get(items(feed, `limit=10000&since=${n}`)) },
  'pages read': { reads: 'all', write: (feed, n) => get(items(feed, `limit=10000&since=${n}`)) },
  gzip: { reads: 'nothing', write: (feed, n) => get(items(feed, `limit=10000&since=${n}`), GZIP) },
  text: { reads: 'all', write: (feed, n) => get(items(feed, `limit=500&encoding=json&since=${n}`)) },
  streams: { reads: 'nothing', write: (feed, n) => get(items(feed, `limit=1000000&since=${n}`), NDJSON) },
  'streams read': { reads: 'all', write: (feed, n) => get(items(feed, `limit=1000000&since=${n}`), NDJSON) },
  ids: { reads: 'nothing', write: (feed, n) => get(items(feed, some(1000, (i) => `id=item-${(n + i) % 2000}&`) + `since=${n}`)) },
  'one item': { reads: 'nothing', write: (feed, n) => some(100, (i) => get(`/v1/feeds/${feed}/items/item-${(n + i) % 2000}`)) },
  live: { reads: 'nothing', write: (feed) => get(`/v1/feeds/${feed}/live?limit=10000`) },
  figures: { reads: 'nothing', write: (feed) => some(100, () => get(`/v1/feeds/${feed}/figures?since=1`)) },
  metrics: { reads: 'all', write: () => some(20, () => get('/metrics')) },
  docs: { reads: 'nothing', write: () => get('/docs/json') + get('/docs/static/swagger-ui-bundle.js') + get('/uplot.js') }
}

const [url, connections, feeds, only] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const kinds = Object.entries(KINDS).filter(([name]) => !only || only.split(',').includes(name)).map(([, kind]) => kind)

/** @param {number} n */
function open (n) {
  const { reads, write } = kinds[n % kinds.length]
  const names = feeds.split(',')
  const text = write(names[Math.floor(n / kinds.length) % names.length], n)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  // it is opened again, and asks for something else
  socket.on('close', () => setTimeout(() => open(n + kinds.length * Number(connections)), REOPEN_MS))
  socket.write(text)
  if (reads === 'nothing') return socket.pause()
  socket.on('data', () => {
    if (reads !== 'slowly') return
    socket.pause()
    setTimeout(() => socket.resume(), 1000)
  })
  if (reads !== 'all') return
  const timer = setInterval(() => { if (socket.writableLength === 0) socket.write(text) }, REPEAT_MS)
  socket.on('close', () => clearInterval(timer))
}

for (let n = 0; n < Number(connections); n++) open(n)
