/**
 * Readers of a feed that is not stored, for clients that follow it: a thousand items a second are due, each id in turn, until
 * `end` is called. `healthy` pushes and answers as a reader would; the others lie (L15).
 *
 * @typedef {{ id: string, ts: number, value: string }} Written
 * @typedef {{ ids: string[], serial: number, events: number }} Client of a stream
 * @typedef {object} Lie
 * @property {(newest: number) => number} [at] which number is the newest it takes
 * @property {(items: Written[], client: Client, versionOf: (id: string, back: number) => Written) => Written[]} [items]
 *   of an event or answer;
 *   `versionOf` an id, so many before its newest
 * @property {(client: Client) => boolean} [ends] whether a stream ends now
 * @property {(client: Client) => boolean} [resets] whether a stream gets a reset now
 * @property {(client: Client) => boolean} [refuses]
 */
import { createServer } from 'node:http'
import { makeIds, makeValue } from '../../../src/synthetic.js'

export const RATE = 1000
export const IDS = 40
export const VALUE_BYTES = 64
export const EVERY_MS = 50
const ids = makeIds(IDS, 0, 1).map(String)
const HELD = 'id-7'

/** @type {Record<string, Lie>} */
export const LIES = {
  healthy: {},
  /** What it sends is a quarter of a second old. */
  stale: { at: (newest) => newest - 250 },
  'holds back an update': { items: (items, _, versionOf) => items.map((item) => item.id === HELD ? versionOf(HELD, 1) : item) },
  'ends a stream': { ends: ({ serial, events }) => serial === 2 && events > 3 },
  'sends a reset without a reason': { resets: ({ serial, events }) => serial === 2 && events === 3 },
  'refuses a client': { refuses: ({ serial }) => serial === 2 }
}

/**
 * @param {import('tap').Test} t @param {string} name
 * @returns {Promise<{ url: string, end: () => number }>} `end`: the load has ended, and how many items it has written
 */
export async function startStreams (t, name) {
  const {
    at = (newest) => newest, items: tell = (items) => items, ends = () => false, resets = () => false, refuses = () => false
  } = LIES[name]
  const startMs = Date.now() - 5000
  /** @type {number | null} */
  let count = null
  let serial = 0
  const written = () => count ?? Math.floor((Date.now() - startMs) * RATE / 1000)
  /** @type {Set<NodeJS.Timeout>} */
  const timers = new Set()

  /** @param {number} n from 1 @returns {Written} */
  function itemOf (n) {
    const { value } = makeValue(VALUE_BYTES, 0)
    const text = value.toString().replace(/\d{12}/, String(n).padStart(12, '0'))
    return { id: ids[(n - 1) % IDS], ts: Math.floor(startMs + n * 1000 / RATE), value: Buffer.from(text).toString('base64') }
  }

  /** @param {string} id @param {number} back @param {number} newest */
  function versionOf (id, back, newest) {
    const bucket = ids.indexOf(id)
    return itemOf(bucket + 1 + IDS * (Math.floor((newest - bucket - 1) / IDS) - back))
  }

  /** @param {Client} client */
  function itemsOf (client) {
    const newest = count === null ? at(written()) : count
    return tell(client.ids.map((id) => versionOf(id, 0, newest)).sort((a, b) => a.ts - b.ts), client,
      (id, back) => versionOf(id, back, newest))
  }

  const server = createServer((request, response) => {
    const url = new URL(String(request.url), 'http://localhost')
    const client = { ids: url.searchParams.getAll('id'), serial: serial++, events: 0 }
    if (!url.pathname.endsWith('/live')) {
      const body = JSON.stringify({ items: itemsOf(client) })
      return response.setHeader('content-length', body.length).end(body)
    }
    if (refuses(client)) return response.writeHead(503).end('{"code":"OVERLOADED"}')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('retry: 1000\n\n')
    const send = (/** @type {string} */ event) =>
      response.write(`event: ${event}\ndata: ${JSON.stringify({ items: itemsOf(client) })}\nid: place\n\n`)
    send('snapshot')
    const timer = setInterval(() => {
      client.events++
      if (ends(client)) return response.end()
      if (resets(client)) {
        response.write('event: reset\ndata: {"reason":"rebuilt"}\n\n')
        return send('snapshot')
      }
      send('items')
    }, EVERY_MS)
    timers.add(timer)
    response.on('close', () => clearInterval(timer))
  })
  await /** @type {Promise<void>} */ (new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve) }))
  t.teardown(() => {
    for (const timer of timers) clearInterval(timer)
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`,
    end () {
      count = written()
      return count
    }
  }
}
