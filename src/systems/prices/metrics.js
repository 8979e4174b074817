/** Metrics of prices, in the processes that refresh them. */
import { Counter, Histogram } from 'prom-client'
import { counter, gauge } from '../../metrics/index.js'
import { BREAKERS } from '../breaker.js'

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6]

/** @typedef {{ exchange: string, breaker: string, calls: number, failures: number, skipped: number }} SourceCounts */

/** Of the history store, in each process that uses it. @param {import('prom-client').Registry} registry */
export function createStoreMetrics (registry) {
  const requests = new Counter({
    registers: [registry],
    name: 'freshet_price_store_requests_total',
    help: 'Total requests to the history store, by operation and outcome',
    labelNames: ['operation', 'outcome']
  })
  return { asked: (/** @type {string} */ operation, /** @type {string} */ outcome) => requests.inc({ operation, outcome }) }
}

/** @param {import('prom-client').Registry} registry */
export function createPriceMetrics (registry) {
  const common = { registers: [registry] }
  const refreshes = new Counter({
    ...common, name: 'freshet_price_refreshes_total', help: 'Total refreshes, by outcome', labelNames: ['outcome']
  })
  const took = new Histogram({
    ...common,
    name: 'freshet_price_refresh_seconds',
    help: 'Time of a refresh, from reading the asset to storing the outcome',
    buckets: SECONDS
  })
  /** @type {() => SourceCounts[]} */
  let figures = () => []
  /** @param {(one: SourceCounts) => number} read @returns {() => [Record<string, string>, number][]} */
  const each = (read) => () => figures().map((one) => [{ exchange: one.exchange }, read(one)])
  const labels = ['exchange']
  gauge(registry, { name: 'freshet_source_breaker', help: 'Circuit breaker of a source: 0 closed, 1 half-open, 2 open', labels },
    each(({ breaker }) => BREAKERS.indexOf(breaker)))
  counter(registry, { name: 'freshet_source_calls_total', help: 'Total calls of a source', labels }, each(({ calls }) => calls))
  counter(registry, { name: 'freshet_source_skipped_total', help: 'Total refreshes that did not call a source', labels },
    each(({ skipped }) => skipped))
  counter(registry, { name: 'freshet_source_failures_total', help: 'Total calls without a usable reply', labels },
    each(({ failures }) => failures))

  return {
    refreshed (/** @type {string} */ outcome, /** @type {number} */ seconds) {
      refreshes.inc({ outcome })
      took.observe(seconds)
    },
    follow (/** @type {() => SourceCounts[]} */ read) { figures = read },
    store: createStoreMetrics(registry)
  }
}
