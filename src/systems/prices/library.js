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
 * @import { Log } from '../../options.js'
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { readSystem } from '../../admission/index.js'
import { FreshetError } from '../../errors.js'
import { createServers } from '../../store/index.js'
import { expectKey, invalid } from '../command-arguments.js'
import { openDefinition, openReading } from '../opening.js'
import { checkedOptions } from '../options.js'
import { UNCOUNTED } from '../uncounted.js'
import { createDemand } from './demand.js'
import './errors.js'
import { assetOf } from './names.js'
import { createPriceQueries } from './queries.js'
import { createEncoder, eventOf } from './replies.js'

export { FreshetError, SettingsInvalid } from '../../errors.js'

const SYSTEM = 'prices'
const UNKNOWN = 'ASSET_UNKNOWN'
const OPTIONS = Object.freeze(['redisUrl', 'keyPrefix', 'deadlineMs'])
const MAX_ASSETS = 20_000
/** A status changes with the time, without an event. */
const TICK_MS = 250
/** Between two looks at an asset that is not kept current at the moment, as in reading.js. */
const LOOK_EVERY_MS = 50
const AFTER_ERROR_MS = 1000
let opened = 0

/**
 * @typedef {object} PricesOptions
 * @property {string} redisUrl of the primary, redis:// or rediss://; of nodes of a cluster; or of Sentinels
 * @property {string} [keyPrefix] prefix of every key; default: fr:
 * @property {number} [deadlineMs] reply timeout of a server; the connection is then closed. Default: 1,000
 * @property {Log} [log] default: none
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
 * @throws {import('../../errors.js').FreshetError} SETTINGS_INVALID, with all faults
 */
export function openPrices (options) {
  const settings = checkedOptions(options, {}, OPTIONS)
  const closing = new AbortController()
  const connections = createConnections(settings)

  const idOf = (/** @type {string} */ given) => {
    expectKey(given, 'asset')
    return assetOf(given)
  }

  return {
    async get (given) {
      const asset = idOf(given)
      const { price, encoder } = await connections.opened()
      return JSON.parse(String(encoder.replyOf(await price(asset), Date.now()).body))
    },
    follow: (given, how) => followAsset(idOf(given), { connections, log: settings.log, ended: endOf(how, closing.signal) }),
    async close () {
      closing.abort()
      await connections.close()
    }
  }
}

/** @param {{ signal?: AbortSignal } | undefined} options @param {AbortSignal} closing @returns {AbortSignal} */
function endOf (options, closing) {
  const { signal } = options ?? {}
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal: expected the signal of an AbortController')
  return signal ? AbortSignal.any([closing, signal]) : closing
}

/** @param {any} settings */
function createConnections (settings) {
  const { keyPrefix, redisUrl, deadlineMs, log } = settings
  const name = `freshet-${process.pid}-${SYSTEM}-${++opened}`
  /** @type {{ servers: import('../../store/index.js').Servers, routes: import('../../store/index.js').Primaries } | null} */
  let connected = null
  /** @type {ReturnType<typeof open> | null} */
  let opening = null
  let isClosed = false

  function connect () {
    const servers = createServers({ redisUrl, isReading: false, isAsked: false, name, deadlineMs, log })
    return { servers, routes: servers.primaries({ name, deadlineMs }) }
  }

  async function open () {
    const { servers, routes } = connected ??= connect()
    await routes.opened.catch(() => {})
    const stored = await readSystem(routes.router, { keyPrefix, system: SYSTEM })
    if (stored === null) throw new FreshetError(UNKNOWN, 'no asset was ever created on this server; PUT /v1/assets/:asset creates one')
    const opening = openDefinition({ name: SYSTEM }, { ...settings, systemPartitions: stored.partitions },
      { servers, routes, name, metrics: UNCOUNTED, log })
    await opening.agreed()
    const { view, reading } = openReading(opening.open().target, {
      unknown: UNKNOWN, memory: { maxKeys: MAX_ASSETS, tail: 1 }, streams: servers.primaryStreams, log
    })
    const { submit } = opening
    const demand = createDemand({ submit })
    return {
      ...createPriceQueries({ view, reading, submit, demand, store: null, now: Date.now }),
      encoder: createEncoder({ isShared: () => false }),
      view,
      reading,
      async close () {
        demand.close()
        reading.close()
        await view.close()
        await opening.close()
      }
    }
  }

  return {
    opened () {
      if (isClosed) throw new FreshetError('PIPELINE_CLOSED', 'the prices are closed; open them again')
      opening ??= open()
      opening.catch(() => { opening = null })
      return opening
    },
    async close () {
      isClosed = true
      await (await opening?.catch(() => null))?.close()
      await connected?.routes.close()
      await connected?.servers.close()
    }
  }
}

/**
 * @param {string} asset
 * @param {{ connections: ReturnType<typeof createConnections>, log: any, ended: AbortSignal }} parts
 * @returns {AsyncGenerator<PriceChange, void, void>}
 */
async function * followAsset (asset, { connections, log, ended }) {
  let last = ''
  let isWaiting = false
  while (!ended.aborted) {
    try {
      const { view, reading } = await connections.opened()
      const { fields } = await reading.current(asset)
      isWaiting = false
      const change = /** @type {PriceChange} */ (eventOf(asset, fields, Date.now()))
      const text = `${change.price} ${change.status}`
      if (ended.aborted) return
      if (text !== last) {
        last = text
        yield change
        continue
      }
      await reading.waitFor((done) => {
        const leave = view.watch(asset, done)
        ended.addEventListener('abort', done)
        return () => {
          leave()
          ended.removeEventListener('abort', done)
        }
      }, view.peek(asset) ? TICK_MS : LOOK_EVERY_MS)
    } catch (error) {
      if (ended.aborted) return
      if (!error.retryable) throw error
      if (!isWaiting) log.warn({ asset, code: error.code, reason: error.message }, 'a price cannot be read, retrying')
      isWaiting = true
      await sleep(AFTER_ERROR_MS, undefined, { signal: ended }).catch(() => {})
    }
  }
}
