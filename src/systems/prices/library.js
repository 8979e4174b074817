/**
 * Prices for programs of users: the newest one of an asset, and its changes. A process keeps the assets that it asks for in memory, and
 * the outbox of the system keeps them current.
 *
 *     import { openPrices } from 'freshet-feed/prices'
 *     const prices = openPrices({ redisUrl: 'redis://127.0.0.1:6379' })
 *     const { price, status } = await prices.get('btc-usd')
 *     for await (const { price, status } of prices.follow('btc-usd')) { ... }
 *     await prices.close()
 *
 * Consumers (`npx freshet consumers --systems prices`) call the sources. An asset without a price is asked for once by all processes
 * together (queries.js), so each source is called once, too.
 *
 * @import { OpenedQueries, System, SystemOptions } from 'freshet-feed/systems'
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError, openQueries, rules, schemas } from 'freshet-feed/systems'
import { createDemand } from './demand.js'
import { ERRORS } from './errors.js'
import { assetOf } from './settings.js'
import { createPriceQueries } from './queries.js'
import { createEncoder, eventOf } from './replies.js'

export { FreshetError, SettingsInvalid } from 'freshet-feed/systems'

const ID = new RegExp(/** @type {any} */ (schemas.id).pattern)
const MAX_ASSETS = 20_000
/** A status changes with the time, without an event. */
const TICK_MS = 250
/** Between two looks at an asset that is not kept current at the moment. */
const LOOK_EVERY_MS = 50
const AFTER_ERROR_MS = 1000

/** What a program needs of prices. @type {System} */
const PRICES = {
  name: 'prices',
  rules: { latest: rules.latest },
  errors: ERRORS,
  unknown: 'ASSET_UNKNOWN',
  memory: { maxKeys: MAX_ASSETS, tail: 1 },
  reader (parts) {
    const demand = createDemand(parts)
    return {
      queries: { ...createPriceQueries({ ...parts, demand, store: null }), encoder: createEncoder({ isShared: () => false }) },
      close: demand.close
    }
  }
}

/**
 * @typedef {object} PricesOptions
 * @property {string} redisUrl of the primary, redis:// or rediss://; of nodes of a cluster; or of Sentinels
 * @property {string} [keyPrefix] prefix of every key; default: fr:
 * @property {number} [deadlineMs] reply timeout of a server; the connection is then closed. Default: 1,000
 * @property {SystemOptions['log']} [log] default: none
 */

/** @typedef {{ exchange: string, ok: boolean, ts?: number, reason?: string }} PriceSource `ok`: it counted; `reason`: why not */

/**
 * What `GET /v1/prices/:asset` answers.
 * @typedef {object} Price
 * @property {string} asset
 * @property {string} price decimal text, without an exponent
 * @property {number} updatedAt when its refresh began, ms since 1970
 * @property {number} asOf its time by its sources, from which the expiries count
 * @property {'hot' | 'medium' | 'cold'} tier
 * @property {'fresh' | 'stale' | 'degraded'} status stale: past the soft expiry; degraded: the last refresh failed
 * @property {number} seq
 * @property {PriceSource[]} sources
 * @property {{ at: number, reason: string, sources: PriceSource[] }} [failed] of a degraded price: the last refresh
 */

/**
 * The newest state of an asset; `price`, `updatedAt` and `asOf` are null without a price that may be served, and the status says why.
 * @typedef {{ asset: string, price: string | null, updatedAt: number | null, asOf: number | null, tier: Price['tier'],
 *   status: Price['status'] | 'no_data' | 'no_quorum' | 'expired', seq: number }} PriceChange
 */

/**
 * @typedef {object} Prices
 * @property {(asset: string) => Promise<Price>} get the newest price; without one that may be served, a refresh is asked for, and awaited
 *   up to 0.9 s. Rejects with ARGUMENT_INVALID, ASSET_UNKNOWN, PRICE_NO_DATA, PRICE_NO_QUORUM, PRICE_EXPIRED, PIPELINE_CLOSED,
 *   SERVER_LOST, SERVER_REFUSED, SERVER_UNREACHABLE
 * @property {(asset: string, options?: { signal?: AbortSignal }) => AsyncGenerator<PriceChange, void, void>} follow the asset as it is,
 *   then again whenever its price or status changes; a slow loop gets the newest one only. The signal and `close` end it without an error.
 *   While no server answers it waits, and the log says why. Throws ARGUMENT_INVALID, ASSET_UNKNOWN
 * @property {() => Promise<void>} close ends followers and connections
 */

/**
 * Opens prices for reading. Connections are opened by the first call, and again after a failure.
 * @param {PricesOptions} options
 * @returns {Prices}
 * @throws {FreshetError} SETTINGS_INVALID, with all faults
 */
export function openPrices (options) {
  const queries = openQueries(PRICES, options)
  const closing = new AbortController()

  return {
    async get (id) {
      const asset = idOf(id)
      const { own: { price, encoder } } = await queries.opened()
      return JSON.parse(String(encoder.replyOf(await price(asset), Date.now()).body))
    },
    follow: (id, how) => followAsset(idOf(id), { queries, log: options.log, ended: endOf(how, closing.signal) }),
    async close () {
      closing.abort()
      await queries.close()
    }
  }
}

/** @param {unknown} id @returns {string} @throws {FreshetError} ARGUMENT_INVALID */
function idOf (id) {
  if (typeof id === 'string' && ID.test(id)) return assetOf(id)
  const shown = typeof id === 'string' ? JSON.stringify(id.slice(0, 100)) : `of type ${typeof id}`
  throw invalid(`asset ${shown}; expected 1-64 of A-Z a-z 0-9 _ . : -`)
}

/** @param {string} message */
const invalid = (message) => new FreshetError('ARGUMENT_INVALID', message)

/** @param {{ signal?: AbortSignal } | undefined} options @param {AbortSignal} closing @returns {AbortSignal} */
function endOf (options, closing) {
  const { signal } = options ?? {}
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal: expected the signal of an AbortController')
  return signal ? AbortSignal.any([closing, signal]) : closing
}

/**
 * @param {string} asset
 * @param {{ queries: OpenedQueries, log: PricesOptions['log'], ended: AbortSignal }} parts
 * @returns {AsyncGenerator<PriceChange, void, void>}
 */
async function * followAsset (asset, { queries, log, ended }) {
  let last = ''
  let isWaiting = false
  while (!ended.aborted) {
    try {
      const { parts: { find, peek, watch, waitFor } } = await queries.opened()
      const keyState = await find(asset)
      if (keyState === null) {
        throw new FreshetError('ASSET_UNKNOWN', `there is no asset ${asset}; create it with PUT /v1/assets/:asset`)
      }
      isWaiting = false
      const change = /** @type {PriceChange} */ (eventOf(asset, keyState.fields, Date.now()))
      const text = `${change.price} ${change.status}`
      if (ended.aborted) return
      if (text !== last) {
        last = text
        yield change
        continue
      }
      await waitFor((done) => {
        const leave = watch(asset, done)
        ended.addEventListener('abort', done)
        return () => {
          leave()
          ended.removeEventListener('abort', done)
        }
      }, peek(asset) ? TICK_MS : LOOK_EVERY_MS)
    } catch (error) {
      if (ended.aborted) return
      if (!error.retryable) throw error
      if (!isWaiting) log?.warn({ asset, code: error.code, reason: error.message }, 'a price cannot be read, retrying')
      isWaiting = true
      await sleep(AFTER_ERROR_MS, undefined, { signal: ended }).catch(() => {})
    }
  }
}
