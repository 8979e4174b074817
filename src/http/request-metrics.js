/**
 * Requests by route and status. Counts are plain numbers until a scrape, since counters of prom-client hash their labels on
 * every call. The label is the route's pattern, never the path, so the number of series is fixed.
 *
 * A client that disconnects before the head of its response counts as status 499; a response that ends midway is counted in
 * freshet_http_aborted_responses_total as well.
 */
import { counter } from '../metrics/index.js'
import { whenClosed } from './closed.js'

/**
 * @typedef {{ route: string, byStatus: Record<number, number>, buckets: number[], count: number, seconds: number,
 *   cut: number }} RouteRecord
 */

const BOUNDS_SECONDS = Object.freeze([0.001, 0.005, 0.025, 0.1, 0.5, 2.5])
const CLIENT_GONE = 499

/** @param {string} route @returns {RouteRecord} */
const createRecord = (route) => ({ route, byStatus: {}, buckets: BOUNDS_SECONDS.map(() => 0), count: 0, seconds: 0, cut: 0 })

/**
 * @param {import('prom-client').Registry} registry
 */
export function createRequestMetrics (registry) {
  const unmatched = createRecord('unmatched')
  const records = new Map([[unmatched.route, unmatched]])
  register(registry, records)
  return {
    /** @param {import('fastify').RouteOptions} options */
    onRoute (options) {
      const record = records.get(options.url) ?? createRecord(options.url)
      records.set(options.url, record)
      options.config = /** @type {any} */ ({ ...options.config, record })
    },

    /** @param {any} request @param {any} reply */
    onRequest (request, reply) {
      const record = request.routeOptions.config?.record ?? unmatched
      const startedMs = performance.now()
      const response = reply.raw
      whenClosed(response, () => countRequest(record, response, (performance.now() - startedMs) / 1000))
    }
  }
}

/**
 * To be called when the response is closed.
 * @param {RouteRecord} record
 * @param {import('node:http').ServerResponse} response
 * @param {number} seconds taken
 */
function countRequest (record, response, seconds) {
  const status = response.headersSent ? response.statusCode : CLIENT_GONE
  record.byStatus[status] = (record.byStatus[status] ?? 0) + 1
  record.count++
  record.seconds += seconds
  const bucket = BOUNDS_SECONDS.findIndex((bound) => seconds <= bound)
  if (bucket >= 0) record.buckets[bucket]++
  if (response.headersSent && !response.writableFinished) record.cut++
}

/** @param {import('prom-client').Registry} registry @param {Map<string, RouteRecord>} records */
function register (registry, records) {
  /**
   * @param {string} name @param {string} help @param {string[]} labels
   * @param {(record: RouteRecord) => [Record<string, string>, number][]} read
   */
  const total = (name, help, labels, read) => counter(registry, { name, help, labels }, () => [...records.values()].flatMap(read))
  total('freshet_http_requests_total', 'Total HTTP requests, by route and status', ['route', 'status'], ({ route, byStatus }) =>
    Object.entries(byStatus).map(([status, requests]) => [{ route, status }, requests]))
  total('freshet_http_aborted_responses_total', 'Total responses that ended before they were complete, by route', ['route'],
    ({ route, cut }) => cut > 0 ? [[{ route }, cut]] : [])
  // a histogram of prom-client accepts single observations only, so this object has its interface and gives totals
  const histogram = {
    name: 'freshet_http_request_seconds',
    help: 'Time from the request to the end of its response',
    type: 'histogram',
    labelNames: ['route'],
    aggregator: 'sum',
    reset () {},
    async get () {
      const values = [...records.values()].filter((record) => record.count).flatMap(histogramValues)
      return { name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values }
    }
  }
  registry.registerMetric(/** @type {any} */ (histogram))
}

/** @param {RouteRecord} record */
function histogramValues ({ route, buckets, count, seconds }) {
  const name = 'freshet_http_request_seconds'
  let upTo = 0
  return [
    ...BOUNDS_SECONDS.map((le, i) => ({ metricName: `${name}_bucket`, labels: { route, le }, value: (upTo += buckets[i]) })),
    { metricName: `${name}_bucket`, labels: { route, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels: { route }, value: seconds },
    { metricName: `${name}_count`, labels: { route }, value: count }
  ]
}
