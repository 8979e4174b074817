/**
 * The exchanges as a plain service asks them: one after the other or all at once, with the same deadline as the product, and without its
 * limits and circuit breakers.
 *
 * @typedef {Parameters<typeof aggregate>[0][number]} Tick
 * @typedef {{ ticks: (asset: string) => Promise<Tick[]>, readonly fetches: number, close: () => void }} Sources `fetches` so far
 * @typedef {{ begin: (assets: string[]) => Promise<void>, close: () => Promise<unknown>,
 *   find: (asset: string) => Promise<{ price: import('./techniques.js').Price | null, level: import('./techniques.js').Level }> }} Cache in
 *   front of them; `price` null: too few of them agree
 */
import { Agent } from 'node:http'
import { aggregate } from '../../../src/systems/prices/index.js'
import { request } from '../../serving/request.js'
import { tierOf } from './assets.js'

const CALL_MS = 400

/** @param {{ urls: Record<string, string>, isSequential?: boolean }} options @returns {Sources} */
export function createPlainSources ({ urls, isSequential = false }) {
  const agent = new Agent({ keepAlive: true })
  let fetches = 0

  /** @param {[string, string]} exchange @param {string} asset @returns {Promise<Tick>} */
  async function call ([exchange, base], asset) {
    const signal = AbortSignal.timeout(CALL_MS)
    const { status, chunks } = await request(`${base}/ticker/${asset}`, { agent, signal })
    const failed = (/** @type {string} */ reason) => ({ exchange, ok: /** @type {const} */ (false), reason })
    if (status === 0) return failed(signal.aborted ? 'timeout' : 'unreachable')
    if (status !== 200) return failed(`http_${status}`)
    try {
      const { price, volume, ts } = JSON.parse(Buffer.concat(chunks).toString())
      return { exchange, ok: /** @type {const} */ (true), price, volume, ts }
    } catch {
      return failed('unreadable')
    }
  }

  return {
    get fetches () { return fetches },

    async ticks (asset) {
      fetches++
      const exchanges = Object.entries(urls)
      if (!isSequential) return Promise.all(exchanges.map((one) => call(one, asset)))
      const ticks = []
      for (const one of exchanges) ticks.push(await call(one, asset))
      return ticks
    },
    close: () => agent.destroy()
  }
}

/**
 * One price from the exchanges, by the same aggregation as in the product. Its number is the time: there is no other.
 * @param {Sources} sources @param {string} asset @param {() => number} [now] ms since 1970
 * @returns {Promise<import('./techniques.js').Price | null>} null: too few of them agree
 */
export async function fetchPrice (sources, asset, now = Date.now) {
  const updatedAt = now()
  const found = aggregate(await sources.ticks(asset), { nowMs: now(), last: null, candidate: null })
  if ('failure' in found) return null
  return { asset, price: found.price, updatedAt, tier: tierOf(asset), seq: updatedAt, sources: found.sources }
}

/**
 * @param {import('./techniques.js').Price} price @param {import('./techniques.js').Level} level
 * @returns {import('./techniques.js').Reply}
 */
export const replyOf = (price, level) =>
  ({ status: 200, level, body: JSON.stringify({ ...price, status: level === 'stale' ? 'stale' : 'fresh' }) })

/** @type {import('./techniques.js').Reply} */
export const NO_PRICE = Object.freeze({ status: 503, level: 'none', body: '{"code":"PRICE_NO_DATA"}' })
