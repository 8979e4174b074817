/**
 * Queries about prices, for readers. A price is looked for in memory, on the servers and in the history store, in this order; the reply
 * names where it was found.
 *
 *     memory (fed by the outbox) -> replica, primary -> store -> the refresh is asked for, and awaited up to 0.9 s
 *
 * @typedef {import('../../admission/index.js').KeyState} KeyState
 * @typedef {import('./replies.js').Found} Found
 * @typedef {Pick<import('./store/index.js').PriceStore, 'latest' | 'history'>} Store
 */
import { FreshetError } from '../../errors.js'
import { isUsable, missing, STATUSES } from './replies.js'
import { createStoreReads } from './store-reads.js'
import { createWanting } from './wanting.js'

/**
 * @param {object} parts
 * @param {import('../../admission/index.js').KeyView} parts.view
 * @param {import('../reading.js').Reading} parts.reading
 * @param {(command: import('../../admission/index.js').Command) => Promise<import('../../admission/index.js').Decision>} parts.submit
 * @param {import('./demand.js').Demand} parts.demand
 * @param {Store | null} parts.store
 * @param {() => number} parts.now ms since 1970
 */
export function createPriceQueries ({ view, reading, submit, demand, store, now }) {
  const want = createWanting({ view, reading, submit, now })
  const latestOf = store && createStoreReads(store)

  /** @param {KeyState} current @param {import('./replies.js').Level} level @returns {Found} */
  const found = ({ key, fields, generation }, level) => ({ asset: key, fields, generation, level })

  /** @param {string} asset @returns {Promise<Found | null>} */
  async function stored (asset) {
    const row = await latestOf?.(asset)
    if (!row || row.hard <= now()) return null
    const { price, ts, asOf, seq, sources, soft, hard, tier } = row
    const numbers = { ts: String(ts), asOf: String(asOf), soft: String(soft), hard: String(hard), seq: String(seq) }
    const fields = { price, tier, sources: JSON.stringify(sources), failures: '0', ...numbers }
    return { asset, fields, generation: 'store', level: 'store' }
  }

  /**
   * @param {string} asset @param {KeyState | null} [read] for this request
   * @returns {Promise<Found>} usable
   * @throws {FreshetError} ASSET_UNKNOWN, PRICE_NO_DATA, PRICE_NO_QUORUM, PRICE_EXPIRED, and when no node can be asked
   */
  async function price (asset, read = null) {
    const inMemory = read ?? view.peek(asset)
    if (inMemory && isUsable(inMemory.fields, now())) {
      demand.note(asset)
      return found(inMemory, read ? 'server' : 'local')
    }
    const current = await view.get(asset)
    if (current) demand.note(asset)
    if (current && isUsable(current.fields, now())) return found(current, 'server')
    const row = await stored(asset)
    if (row) return row
    if (current === null) throw new FreshetError('ASSET_UNKNOWN')
    const later = await want(asset) ?? current
    if (isUsable(later.fields, now())) return found(later, 'origin')
    throw missing(later.fields)
  }

  return {
    price,

    /**
     * @param {string[]} assets
     * @returns {Promise<(Found | { asset: string, status: string })[]>} in this order, each once
     */
    prices: (assets) => Promise.all([...new Set(assets)].map((asset) => price(asset).catch((error) => {
      if (STATUSES[error.code] || error.retryable) return { asset, status: STATUSES[error.code] ?? 'unavailable' }
      throw error
    })))
  }
}
