/**
 * Caching libraries at their best settings for this load, each with the same exchanges behind it.
 *
 *     async-cache-dedupe   in memory: shared fetches, stale while it fetches. Its times are whole seconds; others are rounded up
 *     bentocache           memory in front of the server, synchronized by its bus: shared fetches, stale (`grace`) without waiting. Its
 *                          memory holds text: without `serialize` 1.6.1 ends when another process writes (logicallyExpire)
 */
import { loadPeers } from '../../peers/index.js'
import { eachOf, readTiers, tierOf } from './assets.js'
import { lifetimeOf } from './cached.js'
import { fetchPrice } from './sources.js'

export const PEERS = Object.freeze(['async-cache-dedupe', 'bentocache'])
const MAX_ASSETS = 20_000

/** @typedef {{ get: (asset: string) => Promise<import('./techniques.js').Price>, close: () => Promise<unknown> }} Library */

/**
 * @param {string} technique @param {import('./techniques.js').Place} place @param {import('./sources.js').Sources} sources
 * @returns {Promise<import('./sources.js').Cache>}
 */
export async function openPeer (technique, { redisUrl, keyPrefix, tiers: text }, sources) {
  const load = await loadPeers()
  const tiers = readTiers(text)
  const timesOf = (/** @type {string} */ asset) => {
    const times = tiers[tierOf(asset)]
    return { ttlMs: lifetimeOf(times, tierOf(asset)), hardMs: times.hardMs }
  }

  /** Libraries keep what a fetch returns; an error is kept by none. @param {string} asset */
  async function fetch (asset) {
    const price = await fetchPrice(sources, asset)
    if (price === null) throw new Error('too few exchanges agree')
    return price
  }
  const cache = technique === 'bentocache'
    ? await openBentocache({ load, redisUrl, keyPrefix, timesOf, fetch })
    : await openDedupe({ load, timesOf, fetch })

  return {
    async begin (assets) { await eachOf(assets, (asset) => cache.get(asset).catch(() => {})) },

    async find (asset) {
      const askedMs = Date.now()
      const price = await cache.get(asset).catch(() => null)
      const isOld = price !== null && Date.now() - price.updatedAt > timesOf(asset).ttlMs
      return { price, level: price && price.updatedAt >= askedMs ? 'origin' : isOld ? 'stale' : 'local' }
    },

    close: cache.close
  }
}

/**
 * @param {{ load: (name: string) => Promise<any>, timesOf: (asset: string) => { ttlMs: number, hardMs: number },
 *   fetch: (asset: string) => Promise<import('./techniques.js').Price> }} parts
 * @returns {Promise<Library>}
 */
async function openDedupe ({ load, timesOf, fetch }) {
  const { createCache } = await load('async-cache-dedupe')
  const seconds = (/** @type {number} */ ms) => Math.ceil(ms / 1000)
  const cache = createCache({ storage: { type: 'memory', options: { size: MAX_ASSETS } } })
  cache.define('price', {
    ttl: (/** @type {any} */ { asset }) => seconds(timesOf(asset).ttlMs),
    stale: (/** @type {any} */ { asset }) => seconds(timesOf(asset).hardMs) - seconds(timesOf(asset).ttlMs)
  }, fetch)
  return { get: (asset) => cache.price(asset), close: async () => cache.clear() }
}

/**
 * @param {{ load: (name: string) => Promise<any>, redisUrl: string, keyPrefix: string,
 *   timesOf: (asset: string) => { ttlMs: number, hardMs: number },
 *   fetch: (asset: string) => Promise<import('./techniques.js').Price> }} parts
 * @returns {Promise<Library>}
 */
async function openBentocache ({ load, redisUrl, keyPrefix, timesOf, fetch }) {
  const [{ BentoCache, bentostore }, { memoryDriver }, { redisDriver, redisBusDriver }, { Redis }] =
    await Promise.all(['bentocache', 'bentocache/drivers/memory', 'bentocache/drivers/redis', 'ioredis'].map(load))
  const connection = new Redis(redisUrl, { enableAutoPipelining: true })
  const { hostname: host, port } = new URL(redisUrl)
  const store = bentostore()
    .useL1Layer(memoryDriver({ maxItems: MAX_ASSETS }))
    .useL2Layer(redisDriver({ connection, prefix: `${keyPrefix}bento` }))
    .useBus(redisBusDriver({ connection: { host, port: Number(port) } }))
  const cache = new BentoCache({ default: 'prices', stores: { prices: store } })
  return {
    get (asset) {
      const { ttlMs, hardMs } = timesOf(asset)
      return cache.getOrSet({ key: asset, ttl: ttlMs, grace: hardMs - ttlMs, timeout: 0, factory: () => fetch(asset) })
    },
    async close () {
      await cache.disconnectAll()
      connection.disconnect()
    }
  }
}
