/**
 * Queries about prices, for readers. A price is looked for in memory, on the servers and in the history store, in this order; the reply
 * names where it was found.
 *
 *     memory (fed by the outbox) -> replica, primary -> store -> the refresh is asked for, and awaited up to 0.9 s
 *
 * An asset without a price that can be served: one refresh is asked for, whose outcome all waiting requests get, here and on other readers.
 *
 *     want -> rule `latest`: accepted once -> the owner refreshes -> its event is in the memory of this reader -> waiting requests
 *
 * @typedef {import('freshet-feed/systems').Found} KeyState
 * @typedef {import('freshet-feed/systems').State} Fields
 * @typedef {import('./replies.js').PriceState} PriceState
 * @typedef {Pick<import('./store/index.js').PriceStore, 'latest' | 'history'>} Store
 */
import { setImmediate } from 'node:timers/promises'
import { FreshetError } from 'freshet-feed/systems'
import { failureOf, isUsable, missing, STATUSES } from './replies.js'

const RULE = 'latest'
const REFRESH_WAIT_MS = 900
/** Most assets that wait for the store at a time; beyond it the store is not asked. */
const MAX_STORE_READS = 1000

/**
 * @param {Pick<import('freshet-feed/systems').ReaderParts, 'find' | 'peek' | 'fromPrimary' | 'until' | 'submit' | 'now'> &
 *   { demand: import('./demand.js').Demand, store: Store | null }} parts
 */
export function createPriceQueries ({ find, peek, fromPrimary, until, submit, demand, store, now }) {
  /** Outcomes of refreshes that are asked for, by asset. @type {Map<string, Promise<KeyState | null>>} */
  const refreshing = new Map()
  const latestOf = store && createStoreReads(store)

  /** @param {KeyState} current @param {import('./replies.js').Level} level @returns {PriceState} */
  const priceAt = ({ key, fields, generation }, level) => ({ asset: key, fields, generation, level })

  /**
   * Asks for a refresh, and waits for its outcome.
   * @param {string} asset @returns {Promise<KeyState | null>} as it is after 0.9 s at the latest; null: there is none
   * @throws {FreshetError} of the connection, and SERVER_REFUSED without the permission to ask for a refresh
   */
  async function refresh (asset) {
    const failedBefore = (await find(asset))?.fields.failedAt
    const { code } = await submit({ rule: RULE, key: asset, scope: '', requestId: '', args: ['want'] })
    if (code === 'unknown') return null
    if (code !== 'accepted' && code !== 'in_progress') return fromPrimary(asset)
    const isDue = (/** @type {KeyState | null} */ keyState) =>
      keyState !== null && (isUsable(keyState.fields, now()) || keyState.fields.failedAt !== failedBefore)
    const keyState = await until(asset, () => find(asset), isDue, REFRESH_WAIT_MS)
    return isDue(keyState) ? keyState : fromPrimary(asset)
  }

  /** One refresh for all requests of this reader. @param {string} asset */
  function requestRefresh (asset) {
    const outcome = refreshing.get(asset) ?? refresh(asset).finally(() => refreshing.delete(asset))
    refreshing.set(asset, outcome)
    return outcome
  }

  /**
   * @param {string} asset @param {KeyState | null} [read] for this request
   * @returns {Promise<PriceState>} usable
   * @throws {FreshetError} ASSET_UNKNOWN, PRICE_NO_DATA, PRICE_NO_QUORUM, PRICE_EXPIRED, and when no node can be asked
   */
  async function price (asset, read = null) {
    const inMemory = read ?? peek(asset)
    if (inMemory && isUsable(inMemory.fields, now())) {
      demand.note(asset)
      return priceAt(inMemory, read ? 'server' : 'local')
    }
    const current = await find(asset)
    if (current) demand.note(asset)
    if (current && isUsable(current.fields, now())) return priceAt(current, 'server')
    const stored = await latestOf?.(asset)
    if (stored && isUsable(stored, now())) return { asset, fields: stored, generation: 'store', level: 'store' }
    if (current === null) throw new FreshetError('ASSET_UNKNOWN', `there is no asset ${asset}; create it with PUT /v1/assets/:asset`)
    const later = await requestRefresh(asset) ?? current
    if (isUsable(later.fields, now())) return priceAt(later, 'origin')
    throw missing(later.fields)
  }

  return {
    price,

    /**
     * @param {string[]} assets
     * @returns {Promise<(PriceState | { asset: string, status: string })[]>} in this order, each once
     */
    prices: (assets) => Promise.all([...new Set(assets)].map((asset) => price(asset).catch((error) => {
      if (STATUSES[error.code] || error.retryable) {
        return { asset, status: STATUSES[error.code] ?? 'unavailable', ...failureOf(peek(asset)?.fields) }
      }
      throw error
    })))
  }
}

/**
 * Reads of the store; the assets asked for in one turn of the event loop share one.
 * @param {Pick<Store, 'latest'>} store @returns {(asset: string) => Promise<Fields | undefined>}
 */
function createStoreReads (store) {
  /** @type {Set<string>} */
  let asked = new Set()
  /** @type {Promise<Map<string, Fields>>} */
  let rows
  async function read () {
    await setImmediate()
    const assets = [...asked]
    asked = new Set()
    return store.latest(assets)
  }
  return async (asset) => {
    if (asked.size >= MAX_STORE_READS) return undefined
    if (asked.size === 0) rows = read()
    asked.add(asset)
    return (await rows).get(asset)
  }
}
