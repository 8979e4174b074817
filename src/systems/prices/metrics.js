/** Metrics of prices: of the processes that refresh them, of readers, and of the history store in both. */
import { calls } from 'freshet-feed/systems'
import { Counter, Gauge, Histogram } from 'prom-client'

const REFRESH_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6]
const AGE_SECONDS = [0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800]

/** @typedef {import('./sources/sources.js').SourceFigures} SourceFigures */
/** @typedef {() => [labels: Record<string, string>, value: number][]} Read */
/** @typedef {{ name: string, help: string, labelNames: string[] }} Named */

/** A gauge that is read at each scrape. @param {import('prom-client').Registry} registry @param {Named} named @param {Read} read */
const gauge = (registry, named, read) => new Gauge({
  ...named,
  registers: [registry],
  collect () { for (const [labels, value] of read()) this.set(labels, value) }
})

/** A counter that is read at each scrape. @param {import('prom-client').Registry} registry @param {Named} named @param {Read} read */
const counter = (registry, named, read) => new Counter({
  ...named,
  registers: [registry],
  collect () {
    this.reset()
    for (const [labels, value] of read()) this.inc(labels, value)
  }
})

/** @param {import('prom-client').Registry} registry */
function createStoreMetrics (registry) {
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
    buckets: REFRESH_SECONDS
  })
  /** @type {() => SourceFigures[]} */
  let figures = () => []
  /** @param {(source: SourceFigures) => number} read @returns {() => [Record<string, string>, number][]} */
  const each = (read) => () => figures().map((source) => [{ exchange: source.exchange }, read(source)])
  const labelNames = ['exchange']
  gauge(registry, { name: 'freshet_source_breaker', help: 'Circuit breaker of a source: 0 closed, 1 half-open, 2 open', labelNames },
    each(({ breaker }) => calls.states.indexOf(breaker)))
  counter(registry, { name: 'freshet_source_calls_total', help: 'Total calls of a source', labelNames }, each((source) => source.calls))
  counter(registry, { name: 'freshet_source_skipped_total', help: 'Total refreshes that did not call a source', labelNames },
    each(({ skipped }) => skipped))
  counter(registry, { name: 'freshet_source_failures_total', help: 'Total calls without a usable reply', labelNames },
    each(({ failures }) => failures))

  return {
    refreshed (/** @type {string} */ outcome, /** @type {number} */ seconds) {
      refreshes.inc({ outcome })
      took.observe(seconds)
    },
    follow (/** @type {() => SourceFigures[]} */ read) { figures = read },
    store: createStoreMetrics(registry)
  }
}

/** Of readers: where prices were found, and how old they were. @param {import('prom-client').Registry} registry */
export function createPriceReplyMetrics (registry) {
  /** Replies by level and status: plain numbers, since there may be thousands a second. @type {Map<string, number>} */
  const counts = new Map()
  const count = (/** @type {string} */ level, /** @type {string} */ status) => {
    const name = `${level} ${status}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  counter(registry, {
    name: 'freshet_price_replies_total', help: 'Total prices served, by where they were found and status', labelNames: ['level', 'status']
  }, () => [...counts].map(([name, n]) => {
    const [level, status] = name.split(' ')
    return [{ level, status }, n]
  }))
  const uncounted = new Counter({
    name: 'freshet_price_demand_uncounted_total',
    help: 'Total requests that do not count as demand for an asset',
    registers: [registry]
  })
  const age = new Histogram({
    name: 'freshet_price_age_seconds', help: 'Age of prices when they were served', buckets: AGE_SECONDS, registers: [registry]
  })

  return {
    served (/** @type {import('./replies.js').Reply} */ { level, status, ageMs }) {
      count(level, status)
      age.observe(ageMs / 1000)
    },
    missed: (/** @type {string} */ status) => count('none', status),
    uncounted: (/** @type {number} */ requests) => uncounted.inc(requests),
    store: createStoreMetrics(registry)
  }
}
