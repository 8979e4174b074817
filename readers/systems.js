/** Systems in a reader: each is followed from the first request on, from a replica; a reader for feeds alone opens nothing. */
import { admissionKey, createKeyView, readSystem } from '../src/admission/index.js'
import { partitionOf as partitionOfId } from '../src/item/index.js'
import { createRoutes } from '../src/store/index.js'
import * as auctions from '../src/systems/auctions/index.js'
import * as orders from '../src/systems/orders/index.js'
import * as prices from '../src/systems/prices/index.js'
import * as sales from '../src/systems/sales/index.js'
import { createWaitingRoom } from '../src/waiting-room/index.js'
import { FreshetError } from './errors.js'
import { openPrices as open } from './open-prices.js'

/**
 * @typedef {{ queries: import('../src/systems/auctions/index.js').AuctionQueries,
 *   live: ReturnType<typeof auctions.createAuctionLive> }} OpenAuctions
 * @typedef {{ queries: import('../src/systems/sales/index.js').SaleQueries, live: ReturnType<typeof sales.createSaleLive> }} OpenSales
 * @typedef {{ queries: import('../src/systems/orders/index.js').OrderQueries,
 *   live: ReturnType<typeof orders.createOrderLive> }} OpenOrders
 * @typedef {{ connectionOf: (partition: number, isPrimary: boolean) => import('../src/store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, partitionOf: (key: string) => number, partitions: number, secret: string,
 *   now: () => number }} Parts of a system
 * @typedef {{ system: string, unknown: [code: string, message: string] }} Kind `unknown`: the error when it is not stored
 */
const AUCTIONS = /** @type {Kind} */ ({ system: auctions.SYSTEM, unknown: ['AUCTION_UNKNOWN', 'there is no auction with this id'] })
const SALES = /** @type {Kind} */ ({ system: sales.SYSTEM, unknown: ['SALE_UNKNOWN', 'there is no sale with this id'] })
const PRICES = /** @type {Kind} */ ({ system: prices.SYSTEM, unknown: ['ASSET_UNKNOWN', 'there is no asset with this id'] })
const ORDERS = /** @type {Kind} */ ({ system: orders.SYSTEM, unknown: ['ORDER_UNKNOWN', 'there is no order with this id'] })
/** so many that a popular asset is not read again; events of an asset are not served from memory */
const PRICES_KEPT = Object.freeze({ maxKeys: 20_000, tail: 1 })

/**
 * @param {{ deployment: import('../src/store/index.js').Deployment, primaryUrl: string, keyPrefix: string, now?: () => number,
 *   database: Pick<import('./database.js').ReaderDatabase, 'orderRows' | 'rows'>, prices: import('./open-prices.js').PriceParts,
 *   log: import('pino').Logger }} parts
 */
export function openSystems ({ deployment, primaryUrl, keyPrefix, now = Date.now, database, prices: priceParts, log }) {
  /** @type {ReturnType<typeof createRoutes> | null} */
  let routes = null

  /** @param {number} partition @param {boolean} isPrimary */
  function connectionOf (partition, isPrimary) {
    if (!isPrimary) return deployment.pick().connection
    return /** @type {ReturnType<typeof createRoutes>} */ (routes).route(partition).connection
  }

  /**
   * @param {Kind} kind
   * @returns {Promise<Parts>}
   */
  async function partsOf ({ system, unknown: [code, message] }) {
    if (routes === null) {
      routes = createRoutes({ primaryUrl, name: `freshet-reader-${process.pid}:primary`, deadlineMs: deployment.deadlineMs })
      await routes.opened.catch(() => {})
    }
    const options = { keyPrefix, system }
    const stored = await readSystem(connectionOf(0, false), options) ?? await readSystem(connectionOf(0, true), options)
    if (stored === null) throw new FreshetError(code, message)
    const { partitions, secret } = stored
    return {
      connectionOf,
      keyOf: (partition) => admissionKey(keyPrefix, system, partition),
      partitionOf: (key) => partitionOfId(Buffer.from(key), partitions),
      partitions,
      secret,
      now
    }
  }

  /**
   * @param {Parts} parts
   * @param {Pick<Parameters<typeof createKeyView>[0], 'onEntry' | 'maxKeys' | 'tail'>} [more]
   */
  const viewOf = (parts, more) =>
    createKeyView({ open: (signal) => deployment.openOwn('outbox', { isForLog: false, signal }), ...parts, ...more, log })

  const openAuctions = once(async (push) => {
    const parts = await partsOf(AUCTIONS)
    const view = viewOf(parts)
    const queries = auctions.createAuctionQueries({ view, ...parts })
    const live = auctions.createAuctionLive({ queries, view, push, log })
    return { queries, live, close: () => closeAll(view, live) }
  })

  const openSales = once(async (push) => {
    const parts = await partsOf(SALES)
    const room = createWaitingRoom({ ...parts, log })
    const view = viewOf(parts, {
      onEntry ({ key }) {
        room.note(key)
        live.note(key)
      }
    })
    const queries = sales.createSaleQueries({ view, room, ...parts, orderRows: database.orderRows })
    const live = sales.createSaleLive({ queries, room, push, log })
    return { queries, live, close: () => closeAll(view, live, room) }
  })

  const openOrders = once(async (push) => {
    const parts = await partsOf(ORDERS)
    const flow = orders.createFlow()
    const view = viewOf(parts, { onEntry: flow.note })
    const queries = orders.createOrderQueries({ view, flow, ...parts, rows: database.rows })
    const live = orders.createOrderLive({ queries, view, push, log })
    return { queries, live, close: () => closeAll(view, live, queries) }
  })

  const openPrices = once(async (push) => {
    const parts = await partsOf(PRICES)
    const route = (/** @type {number} */ partition) => /** @type {ReturnType<typeof createRoutes>} */ (routes).route(partition)
    return open(parts, {
      ...priceParts, view: viewOf(parts, PRICES_KEPT), push, keyPrefix, route, deadlineMs: deployment.deadlineMs, log
    })
  })

  return {
    /**
     * @type {(push: import('../src/push/index.js').Push) => Promise<import('./open-prices.js').OpenPrices>} throws ASSET_UNKNOWN: there is
     *   none
     */
    prices: openPrices.get,
    /** @type {(push: import('../src/push/index.js').Push) => Promise<OpenAuctions>} throws AUCTION_UNKNOWN: there is none */
    auctions: openAuctions.get,
    /** @type {(push: import('../src/push/index.js').Push) => Promise<OpenSales>} throws SALE_UNKNOWN: there is none */
    sales: openSales.get,
    /** @type {(push: import('../src/push/index.js').Push) => Promise<OpenOrders>} throws ORDER_UNKNOWN: there is none */
    orders: openOrders.get,

    async close () {
      await Promise.all([openAuctions.close(), openSales.close(), openOrders.close(), openPrices.close()])
      await routes?.close()
    }
  }
}

/** @param {import('../src/admission/index.js').KeyView} view @param {{ close: () => void }[]} users of it */
async function closeAll (view, ...users) {
  for (const user of users) user.close()
  await view.close()
}

/**
 * Opened by the first that needs it, for all.
 * @template {{ close: () => Promise<void> }} T @param {(push: import('../src/push/index.js').Push) => Promise<T>} open
 */
function once (open) {
  /** @type {Promise<T> | null} */
  let opening = null
  return {
    /** @param {import('../src/push/index.js').Push} push @returns {Promise<T>} */
    get (push) {
      opening ??= open(push)
      opening.catch(() => { opening = null })
      return opening
    },
    close: async () => (await opening?.catch(() => null))?.close()
  }
}
