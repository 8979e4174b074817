/** Prices in a reader: they are followed from the first request on, and commands go to the primary, because a reader may want a refresh. */
import { createAdmission } from '../src/admission/index.js'
import { createDemand, createEncoder, createPriceLive, createPriceQueries, readSources, SYSTEM } from '../src/systems/prices/index.js'

/**
 * @typedef {Awaited<ReturnType<typeof openPrices>>} OpenPrices
 * @typedef {object} PriceParts
 * @property {number} requestMs as in gateways
 * @property {() => boolean} isShared whether caches may store replies
 * @property {() => Promise<(import('../src/systems/prices/index.js').Store & { close: () => Promise<void> }) | null>} store history
 * @property {(system: string) => import('../src/metrics/index.js').AdmissionMetrics} admissionMetrics
 * @property {import('../src/metrics/index.js').PriceReplyMetrics} metrics
 */

/**
 * @param {import('./systems.js').Parts} parts of the system
 * @param {PriceParts & { view: import('../src/admission/index.js').KeyView, push: import('../src/push/index.js').Push, keyPrefix: string,
 *   route: Parameters<typeof createAdmission>[0]['route'], deadlineMs: number, log: import('pino').Logger }} options `route` to the primary
 */
export async function openPrices (parts, {
  view, push, keyPrefix, route, deadlineMs, requestMs, isShared, store, admissionMetrics, metrics, log
}) {
  const { now, partitions, connectionOf, keyOf } = parts
  const { submit } = createAdmission({
    route, keyPrefix, system: SYSTEM, partitions, requestMs, keepMs: requestMs, deadlineMs, metrics: admissionMetrics(SYSTEM)
  })
  const demand = createDemand({ submit, onDropped: metrics.uncounted })
  const history = await store().catch((error) => {
    log.error({ code: error.code, reason: error.message }, 'prices are served without their history store')
    return null
  })
  const queries = createPriceQueries({ view, submit, demand, store: history, ...parts })
  const live = createPriceLive({ queries, view, now, push, log })
  return {
    queries,
    live,
    encoder: createEncoder({ isShared }),
    now,
    metrics,
    sources: () => readSources(connectionOf(0, false), keyOf(0)),
    async close () {
      live.close()
      demand.close()
      await Promise.all([view.close(), history?.close()])
    }
  }
}
