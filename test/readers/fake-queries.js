/** The read path's contract in memory, and a reader over it. `state` may be changed at any time. */
import { request } from 'node:http'
import { Registry } from 'prom-client'
import { createReaderApp } from '../../readers/app.js'
import { FreshetError } from '../../src/errors.js'
import { compareOrder, newestFirst } from '../../src/item/order.js'

export const NOW = 1_800_000_000_000

/** @param {string} id @param {number} ts @param {string | Buffer} value @param {number} [seq] */
export const item = (id, ts, value, seq = 0) => ({ id: Buffer.from(id), ts, seq, value: Buffer.from(value) })

export function createFakeQueries (feeds = {}) {
  /** @type {any} */
  const state = {
    failure: null,
    lagMs: 12,
    asOf: () => NOW,
    delay: async () => {},
    status: { ready: true, reasons: [], nodes: [{ role: 'replica', address: '10.1.2.3:6379', state: 'ok', lagMs: 1 }] },
    asked: [],
    feeds
  }
  const definitionOf = (feed) =>
    ({ feed, layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 1_000_000, format: 1, createdAt: '2027-01-15T08:00:00.000Z' })
  const find = async (feed) => {
    await state.delay()
    if (state.failure) throw state.failure
    if (!Object.hasOwn(feeds, feed)) throw new FreshetError('FEED_UNKNOWN', `there is no feed ${feed}`)
    return feeds[feed]
  }
  const confirmed = () => ({ asOf: state.asOf(), lagMs: state.lagMs })
  const queries = {
    async definitions () {
      if (state.failure) throw state.failure
      return Object.keys(feeds).map(definitionOf)
    },
    definition: async (feed) => await find(feed) && definitionOf(feed),
    secret: async () => ({ secret: 'a secret', isStored: true }),
    async latest (feed, { limit, sinceMs = null, after = null }) {
      const items = await find(feed)
      state.asked.push({ feed, limit, sinceMs, after })
      const sorted = Array.isArray(items) ? items.toSorted(newestFirst) : items
      return { ...cut(sorted, limit, sinceMs, after), ...confirmed() }
    },
    async get (feed, ids) {
      const items = await find(feed)
      return { items: ids.map((id) => items.find((one) => one.id.equals(id)) ?? null), ...confirmed() }
    },
    count: async (feed) => ({ count: (await find(feed)).length, exact: true, ...confirmed() }),
    status: () => state.status
  }
  return { queries, state }
}

/** `items` is an array, newest first, or a function of a place that makes them. */
function cut (items, limit, sinceMs, after) {
  if (typeof items === 'function') return items(limit, after)
  const left = items.filter((one) => (sinceMs === null || one.ts >= sinceMs) && (after === null || compareOrder(one, after) < 0))
  return { items: left.slice(0, limit), next: left.length > limit ? left[limit - 1] : null }
}

/** A reader over a fake, with more queries as views have them; closed when the test ends. */
export function createReader (t, feeds, options = {}, ofViews = {}) {
  const { queries: fake, state } = createFakeQueries(feeds)
  const queries = { ...fake, ...ofViews }
  const registry = new Registry()
  const app = createReaderApp({ queries: /** @type {any} */ (queries), registry, maxStaleMs: 10_000, clock: () => NOW, ...options })
  t.teardown(() => app.close())
  return { app, state, registry }
}

/** Over a real socket, the path exactly as written. */
export async function overSocket (app, path, { method = 'GET', headers = {}, host = '127.0.0.1' } = {}) {
  if (!app.server.listening) await app.listen({ port: 0, host })
  const { port } = app.server.address()
  return new Promise((resolve, reject) => {
    request({ host, port, path, method, headers, agent: false }, (response) => {
      const chunks = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        resolve({
          statusCode: response.statusCode, headers: response.headers, trailers: response.trailers, body, json: () => JSON.parse(body)
        })
      })
    }).on('error', reject).end()
  })
}

/** Asserts the shape every refusal has. */
export function isProblem (t, response, status, code) {
  t.equal(response.statusCode, status, `status of ${code}`)
  t.match(response.headers['content-type'], 'application/problem+json')
  const problem = response.json()
  t.match(problem, { type: `urn:freshet:error:${code}`, title: String, status, detail: String, code, retryable: Boolean })
  t.notMatch(response.body, /node_modules|at .*\.js:\d+/, 'no stack')
  return problem
}

/** Through the router, and over a socket, where the fast path is. */
export const WAYS = [
  { way: 'through the router', get: (app, path, headers = {}) => app.inject({ url: path, headers }) },
  { way: 'over a socket', get: (app, path, headers = {}) => overSocket(app, path, { headers }) }
]
