/** Auctions in a reader: followed from the first request on, from a replica; a reader for feeds alone opens nothing. */
import { admissionKey, createKeyView, readSystem } from '../src/admission/index.js'
import { partitionOf as partitionOfId } from '../src/item/index.js'
import { createRoutes } from '../src/store/index.js'
import { createAuctionQueries, createLive, SYSTEM } from '../src/systems/auctions/index.js'
import { FreshetError } from './errors.js'

const RULE = 'max'

/** @typedef {{ queries: import('../src/systems/auctions/index.js').AuctionQueries, live: ReturnType<typeof createLive> }} OpenAuctions */

/**
 * @param {{ deployment: import('../src/store/index.js').Deployment, primaryUrl: string, keyPrefix: string, now?: () => number,
 *   log: import('pino').Logger }} parts
 */
export function openSystems ({ deployment, primaryUrl, keyPrefix, now = Date.now, log }) {
  /** @type {ReturnType<typeof createRoutes> | null} */
  let routes = null
  /** @type {Promise<OpenAuctions & { close: () => Promise<void> }> | null} */
  let opening = null

  /** @param {number} partition @param {boolean} isPrimary */
  function connectionOf (partition, isPrimary) {
    if (!isPrimary) return deployment.pick().connection
    return /** @type {ReturnType<typeof createRoutes>} */ (routes).route(partition).connection
  }

  /** @param {import('../src/push/index.js').Push} push */
  async function open (push) {
    if (routes === null) {
      routes = createRoutes({ primaryUrl, name: `freshet-reader-${process.pid}:primary`, deadlineMs: deployment.deadlineMs })
      await routes.opened.catch(() => {})
    }
    const options = { keyPrefix, system: SYSTEM }
    const stored = await readSystem(connectionOf(0, false), options) ?? await readSystem(connectionOf(0, true), options)
    if (stored === null) throw new FreshetError('AUCTION_UNKNOWN', 'there is no auction with this id')
    const { partitions, secret } = stored
    const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, SYSTEM, partition)
    const partitionOf = (/** @type {string} */ key) => partitionOfId(Buffer.from(key), partitions)
    const view = createKeyView({
      open: (signal) => deployment.openOwn('outbox', { isForLog: false, signal }),
      connectionOf,
      keyOf,
      partitionOf,
      partitions,
      rule: RULE,
      log
    })
    const queries = createAuctionQueries({ view, connectionOf, keyOf, partitionOf, partitions, secret, now })
    const live = createLive({ queries, view, push, log })
    return {
      queries,
      live,
      async close () {
        live.close()
        await view.close()
      }
    }
  }

  return {
    /**
     * @param {import('../src/push/index.js').Push} push
     * @returns {Promise<OpenAuctions>}
     * @throws {FreshetError} AUCTION_UNKNOWN: there is none
     */
    auctions (push) {
      opening ??= open(push)
      opening.catch(() => { opening = null })
      return opening
    },

    async close () {
      const opened = await opening?.catch(() => null)
      await Promise.all([opened?.close(), routes?.close()])
    }
  }
}
