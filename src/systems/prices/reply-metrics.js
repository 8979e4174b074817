/** Metrics of prices in readers: where they were found, and how old they were. */
import { Histogram } from 'prom-client'
import { counter } from '../../metrics/index.js'

const SECONDS = [0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800]

/** @param {import('prom-client').Registry} registry */
export function createPriceReplyMetrics (registry) {
  /** Replies by level, then status: plain numbers, since there may be thousands a second. @type {Record<string, Record<string, number>>} */
  const counts = {}
  let uncounted = 0
  /** @param {string} level @param {string} status */
  function count (level, status) {
    const of = counts[level] ??= {}
    of[status] = (of[status] ?? 0) + 1
  }
  counter(registry, {
    name: 'freshet_price_replies_total', help: 'Total prices served, by where they were found and status', labels: ['level', 'status']
  }, () => Object.entries(counts).flatMap(([level, of]) =>
    Object.entries(of).map(([status, n]) => /** @type {[Record<string, string>, number]} */ ([{ level, status }, n]))))
  counter(registry, {
    name: 'freshet_price_demand_uncounted_total', help: 'Total requests that do not count as demand for an asset'
  }, () => uncounted > 0 ? [[{}, uncounted]] : [])
  const age = new Histogram({
    name: 'freshet_price_age_seconds', help: 'Age of prices when they were served', buckets: SECONDS, registers: [registry]
  })

  return {
    served (/** @type {import('./replies.js').Reply} */ { level, status, ageMs }) {
      count(level, status)
      age.observe(ageMs / 1000)
    },
    missed: (/** @type {string} */ status) => count('none', status),
    /** @param {number} requests that demand does not see */
    uncounted (requests) { uncounted += requests }
  }
}
