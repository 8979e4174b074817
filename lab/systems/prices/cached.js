/**
 * The published service and what can be added to it: a handler in front of a cache on the server, which fetches what it does not find.
 *
 *     sequential               one exchange after the other; one time to live
 *     parallel                 all exchanges at once
 *     tiers                    a time to live by tier, and timers that refresh all assets of a tier at once
 *     warm-up                  all assets are fetched before the service is ready
 *     coalesce                 requests of one process for the same asset share a fetch
 *     stale-while-revalidate   a price past its time to live is served, while it is fetched again, until its hard expiry
 *
 * Each has what the one before it has. Times to live are as published: twice the interval, but for cold assets no longer than it.
 */
import { openConnection } from '../../../src/store/index.js'
import { eachOf, readTiers, tierOf, TIERS } from './assets.js'
import { fetchPrice } from './sources.js'

/** @typedef {{ isSequential?: boolean, hasTiers?: boolean, fills?: boolean, isShared?: boolean, servesStale?: boolean }} Arm */

const TIERED = Object.freeze({ hasTiers: true })
const FILLED = Object.freeze({ ...TIERED, fills: true })
const SHARED = Object.freeze({ ...FILLED, isShared: true })
export const CACHED_ARMS = Object.freeze(/** @type {Record<string, Arm>} */ ({
  sequential: { isSequential: true },
  parallel: {},
  tiers: TIERED,
  'warm-up': FILLED,
  coalesce: SHARED,
  'stale-while-revalidate': { ...SHARED, servesStale: true }
}))
const DEADLINE_MS = 20_000

/** @param {import('./assets.js').Times} times @param {import('./assets.js').Tier} tier @returns {number} ms */
export const lifetimeOf = ({ refreshMs, softMs }, tier) => tier === 'cold' ? Math.min(refreshMs, softMs) : softMs

/**
 * @param {string} technique @param {import('./techniques.js').Place} place @param {import('./sources.js').Sources} sources
 * @returns {Promise<import('./sources.js').Cache>}
 */
export async function openCachedArm (technique, { redisUrl, keyPrefix, tiers: text, isUncached, fills }, sources) {
  const arm = CACHED_ARMS[technique]
  const tiers = readTiers(text)
  const connection = await openConnection(redisUrl, { name: 'lab-prices', deadlineMs: DEADLINE_MS })
  const keyOf = (/** @type {string} */ asset) => `${keyPrefix}{lab}:price:${asset}`
  /** @type {NodeJS.Timeout[]} */
  const timers = []
  /** @type {Map<string, Promise<import('./techniques.js').Price | null>>} */
  const running = new Map()
  const lives = (/** @type {string} */ asset) => {
    const tier = arm.hasTiers ? tierOf(asset) : 'cold'
    return lifetimeOf(tiers[tier], tier)
  }

  /** @param {string} asset */
  async function fetchOnce (asset) {
    const price = await fetchPrice(sources, asset)
    if (price === null || isUncached) return price
    const keepMs = arm.servesStale ? tiers[tierOf(asset)].hardMs - (Date.now() - price.updatedAt) : lives(asset)
    await connection.send('SET', keyOf(asset), JSON.stringify(price), 'PX', Math.max(1, keepMs))
    return price
  }

  /** @param {string} asset @returns {Promise<import('./techniques.js').Price | null>} */
  function fetch (asset) {
    if (!arm.isShared) return fetchOnce(asset)
    const known = running.get(asset)
    if (known) return known
    const one = fetchOnce(asset).finally(() => running.delete(asset))
    running.set(asset, one)
    return one
  }

  return {
    async begin (assets) {
      if (arm.fills || fills) await eachOf(assets, fetch)
      if (!arm.hasTiers) return
      for (const tier of TIERS) {
        const own = assets.filter((asset) => tierOf(asset) === tier)
        timers.push(setInterval(() => { for (const asset of own) fetch(asset).catch(() => {}) }, tiers[tier].refreshMs))
      }
    },

    async find (asset) {
      const stored = await connection.send('GET', keyOf(asset))
      if (stored === null) return { price: await fetch(asset), level: 'origin' }
      const price = /** @type {import('./techniques.js').Price} */ (JSON.parse(String(stored)))
      const isOver = arm.servesStale && Date.now() - price.updatedAt > lives(asset)
      if (isOver) fetch(asset).catch(() => {})
      return { price, level: isOver ? 'stale' : 'server' }
    },

    async close () {
      for (const timer of timers) clearInterval(timer)
      connection.close('')
    }
  }
}
