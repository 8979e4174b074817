/**
 * Queries about prices, for readers. A price is looked for in memory, on the servers and in the history store, in this order; the reply
 * names where it was found.
 *
 *     memory (fed by the outbox) -> replica, primary -> store -> the refresh is asked for, and awaited up to 0.9 s
 *
 * @typedef {import('../../admission/index.js').Known} Known
 * @typedef {import('./replies.js').Found} Found
 * @typedef {{ latest: (assets: string[]) => Promise<Map<string, { price: string, ts: number, asOf: number, version: number, sources: any[],
 *   soft: number, hard: number, tier: string }>>, history: (asset: string, from: number, to: number, limit: number) =>
 *   Promise<{ at: number, price: string, version: number }[]> }} Store
 */
import { FreshetError } from './errors.js'
import { createHistory } from './history.js'
import { isUsable, missing, STATUSES } from './replies.js'
import { createStoreReads } from './store-reads.js'
import { createWanting } from './wanting.js'

const RULE = 'latest'
/** @typedef {ReturnType<typeof createPriceQueries>} PriceQueries */

/**
 * @param {object} parts
 * @param {import('../../admission/index.js').KeyView} parts.view
 * @param {(command: import('../../admission/index.js').Command) => Promise<import('../../admission/index.js').Decision>} parts.submit
 * @param {import('./demand.js').Demand} parts.demand
 * @param {Store | null} parts.store
 * @param {(partition: number, isPrimary: boolean) => import('../../store/index.js').Connection} parts.connectionOf
 * @param {(partition: number) => (part: string) => string} parts.keyOf
 * @param {(key: string) => number} parts.partitionOf
 * @param {number} parts.partitions
 * @param {() => number} parts.now ms since 1970
 */
export function createPriceQueries ({ view, submit, demand, store, connectionOf, keyOf, partitionOf, partitions: count, now }) {
  const wanting = createWanting({ view, submit, now })
  const inStore = store && createStoreReads(store)
  const all = Array.from({ length: count }, (_, partition) => partition)

  /** @param {Known} known @param {import('./replies.js').Level} level @returns {Found} */
  const found = ({ key, fields, generation }, level) => ({ asset: key, fields, generation, level })

  /** @param {string} asset @returns {Promise<Found | null>} */
  async function stored (asset) {
    const row = await inStore?.latest(asset)
    if (!row || row.hard <= now()) return null
    const { price, ts, asOf, version, sources, soft, hard, tier } = row
    const numbers = { ts: String(ts), asOf: String(asOf), soft: String(soft), hard: String(hard), seq: String(version) }
    const fields = { price, tier, sources: JSON.stringify(sources), failures: '0', ...numbers }
    return { asset, fields, generation: 'store', level: 'store' }
  }

  /**
   * @param {string} asset
   * @returns {Promise<Found>} usable
   * @throws {FreshetError} ASSET_UNKNOWN, PRICE_NO_DATA, PRICE_NO_QUORUM, PRICE_EXPIRED, and when no node can be asked
   */
  async function price (asset) {
    const inMemory = view.peek(asset)
    if (inMemory && isUsable(inMemory.fields, now())) {
      demand.note(asset)
      return found(inMemory, 'local')
    }
    const known = await view.get(asset)
    if (known) demand.note(asset)
    if (known && isUsable(known.fields, now())) return found(known, 'server')
    const row = await stored(asset)
    if (row) return row
    if (known === null) throw new FreshetError('ASSET_UNKNOWN', 'there is no asset with this id')
    const later = await wanting.want(asset) ?? known
    if (isUsable(later.fields, now())) return found(later, 'origin')
    throw missing(later.fields)
  }

  return {
    price,

    /** @param {string} asset @throws {FreshetError} ASSET_UNKNOWN */
    async known (asset) {
      const one = await view.get(asset)
      if (one) return one
      throw new FreshetError('ASSET_UNKNOWN', 'there is no asset with this id')
    },

    /**
     * @param {string[]} assets
     * @returns {Promise<(Found | { asset: string, status: string })[]>} in this order, each once
     */
    prices: (assets) => Promise.all([...new Set(assets)].map((asset) => price(asset).catch((error) => {
      if (STATUSES[error.code] || error.retryable) return { asset, status: STATUSES[error.code] ?? 'unavailable' }
      throw error
    }))),

    ...createHistory({ view, store, connectionOf, keyOf, partitionOf }),

    /** Assets by id, with their tiers. @param {{ after: string | null, limit: number }} page */
    async tiers ({ after, limit }) {
      const names = await Promise.all(all.map(async (partition) =>
        (await connectionOf(partition, false).send('ZRANGE', keyOf(partition)('tasks'), 0, -1)).map(String)))
      const tasks = /** @type {string[]} */ (names.flat())
      const assets = tasks.filter((task) => task.startsWith(`${RULE} `)).map((task) => task.split(' ')[1]).sort()
      const page = assets.filter((asset) => after === null || asset > after).slice(0, limit)
      const known = await Promise.all(page.map((asset) => view.get(asset)))
      const items = known.flatMap((one) => one ? [{ asset: one.key, tier: one.fields.tier, pinned: one.fields.pinned === '1' }] : [])
      return { items, next: page.length > 0 && page.at(-1) !== assets.at(-1) ? String(page.at(-1)) : null }
    }
  }
}
