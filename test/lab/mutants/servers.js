/**
 * Servers of a feed that is not stored: at any time they know which items were due, a thousand a second, each id in turn.
 * `healthy` answers as a reader would; the others lie, each in a way that is easily written (L15).
 *
 * @typedef {{ n: number, id: string, ts: number, value: string }} Written
 * @typedef {object} Lie
 * @property {(nowMs: number, beganMs: number) => number} [at] what it takes for now; `beganMs`: when it was started
 * @property {(items: Written[]) => Written[]} [page]
 * @property {(items: Written[]) => Written[]} [all]
 */
import { createServer } from 'node:http'
import { makeIds, makeValue } from '../../../src/synthetic.js'

export const RATE = 1000
export const IDS = 500
export const VALUE_BYTES = 64
const ids = makeIds(IDS, 0, 1).map(String)

/** @param {number} n from 1 @param {number} startMs @returns {Written} */
function itemOf (n, startMs) {
  const { value, change } = makeValue(VALUE_BYTES, 0)
  change()
  const number = String(n).padStart(12, '0')
  return {
    n,
    id: ids[(n - 1) % IDS],
    ts: Math.floor(startMs + n * 1000 / RATE),
    value: Buffer.from(value.toString().replace(/\d{12}/, number)).toString('base64')
  }
}

/** @param {Written[]} items */
const crossed = (items) => items.map((item, i) => i === 2 ? { ...item, id: items[3].id } : i === 3 ? { ...item, id: items[2].id } : item)

/** @type {Record<string, Lie>} */
export const LIES = {
  healthy: {},
  /** What it answers is a fifth of a second old. */
  stale: { at: (nowMs) => nowMs - 200 },
  /** The same answer over and over. */
  stuck: { at: (_, beganMs) => beganMs },
  /** It shows what is not there yet. */
  'of tomorrow': { at: (nowMs) => nowMs + 50 },
  /** It is old and says that it is not. */
  'forges times': {
    at: (nowMs) => nowMs - 200, page: (items) => items.map((item) => ({ ...item, ts: item.ts + 195 + Math.floor(Math.random() * 5) }))
  },
  'leaves one out': { page: (items) => items.filter((_, i) => i !== 5), all: (items) => items.filter((_, i) => i !== 50) },
  'shows one twice': {
    page: (items) => items.map((item, i) => items[i === 5 ? 4 : i]), all: (items) => items.map((item, i) => items[i === 5 ? 4 : i])
  },
  'mixes up two': { page: swapped, all: swapped },
  'pairs a value with another id': { page: crossed, all: crossed },
  'shows what was overwritten': {
    page: (items) => [...items.slice(0, -1), old(items)], all: (items) => [...items.slice(0, -1), old(items)]
  },
  'cuts values': {
    page: (items) => items.map((item) => ({ ...item, value: item.value.slice(4) })),
    all: (items) => items.map((item) => ({ ...item, value: item.value.slice(4) }))
  }
}

/** @param {Written[]} items */
function swapped (items) {
  const all = [...items]
  if (all.length > 9) [all[3], all[9]] = [all[9], all[3]]
  return all
}

/** A version of the first item's id that has a newer one, in its place at the end. @param {Written[]} items */
const old = (items) => itemOf(items[0].n - IDS, items[0].ts - items[0].n)

/**
 * What such a server answers, without a server.
 * @param {string} name @param {number} [beganMs] when it was started; there were items before
 */
export function liarOf (name, beganMs = Date.now()) {
  const { at = (nowMs) => nowMs, page = (items) => items, all = (items) => items } = LIES[name]
  const startMs = beganMs - 5000
  const newestAt = (/** @type {number} */ nowMs) => Math.floor((at(nowMs, beganMs) - startMs) * RATE / 1000)
  const itemsOf = (/** @type {number} */ nowMs, /** @type {number} */ limit) =>
    Array.from({ length: limit }, (_, i) => itemOf(newestAt(nowMs) - i, startMs))
  const written = (/** @type {Written[]} */ items) => items.map(({ id, ts, value }) => ({ id, ts, value }))
  return {
    newestAt,
    /** Newest first. @param {number} nowMs since 1970 @param {number} limit */
    page: (nowMs, limit) => written(page(itemsOf(nowMs, limit))),
    /** Everything. @param {number} nowMs */
    all: (nowMs) => written(all(itemsOf(nowMs, IDS)))
  }
}

/** @param {import('tap').Test} t @param {string} name @returns {Promise<{ url: string }>} of its items */
export async function startLiar (t, name) {
  const liar = liarOf(name)
  const server = createServer((request, response) => {
    const nowMs = performance.timeOrigin + performance.now()
    const isAll = request.headers.accept === 'application/x-ndjson'
    const limit = Number(/limit=(\d+)/.exec(String(request.url))?.[1])
    const body = isAll
      ? liar.all(nowMs).map((item) => JSON.stringify(item) + '\n').join('')
      : JSON.stringify({ items: liar.page(nowMs, limit) })
    response.setHeader('content-length', body.length)
    response.end(body)
  })
  await /** @type {Promise<void>} */ (new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve) }))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/v1/feeds/lab/items` }
}
