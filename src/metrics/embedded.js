/**
 * Metrics for CloudWatch, in its embedded metric format: once a minute one line on standard error, which the log driver of the container
 * sends to CloudWatch Logs, and which becomes metrics there. The process needs no credentials, no SDK, and waits for nothing.
 *
 * Rejected: PutMetricData. It needs the SDK and permissions in each process, and a request that may be throttled.
 *
 * Counters are written as what was added since the last line, so their sum is the total. The series of a metric are added up, and of times
 * the largest is taken. Histograms are left out.
 *
 * Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
const NAMESPACE = 'Freshet'
const PERIOD_MS = 60_000
/** of a line */
const MOST_METRICS = 100
/** those of servers are CloudWatch's own, and would be counted by each process */
const OF_FRESHET = /^freshet_(?!node_|replica_|build_)|^process_(cpu_seconds_total|resident_memory_bytes)$/

const sumOf = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0)
const unitOf = (/** @type {string} */ name) =>
  /_bytes(_total)?$/.test(name) ? 'Bytes' : /_seconds(_total)?$/.test(name) ? 'Seconds' : 'Count'

/**
 * @param {import('prom-client').Registry} registry
 * @param {{ service: string, write?: (line: string) => void, now?: () => number }} options `service`: the dimension; `now`: ms since 1970
 * @returns {() => Promise<void>} writes a line for each hundred metrics
 */
export function createEmbedded (registry, { service, write = (line) => process.stderr.write(line), now = Date.now }) {
  /** @type {Map<string, number>} */
  const before = new Map()

  return async () => {
    /** @type {Record<string, number>} */
    const values = {}
    for (const { name, type, values: series } of /** @type {any[]} */ (await registry.getMetricsAsJSON())) {
      if (!OF_FRESHET.test(name) || !['counter', 'gauge'].includes(type) || series.length === 0) continue
      const all = series.map((/** @type {{ value: number }} */ { value }) => value)
      const value = name.endsWith('_seconds') ? Math.max(...all) : sumOf(all)
      if (!Number.isFinite(value)) continue
      values[name] = type === 'counter' ? value - (before.get(name) ?? 0) : value
      if (type === 'counter') before.set(name, value)
    }
    const all = Object.keys(values)
    for (let at = 0; at < all.length; at += MOST_METRICS) {
      const names = all.slice(at, at + MOST_METRICS)
      const metrics = names.map((name) => ({ Name: name, Unit: unitOf(name) }))
      write(JSON.stringify({
        _aws: { Timestamp: now(), CloudWatchMetrics: [{ Namespace: NAMESPACE, Dimensions: [['service']], Metrics: metrics }] },
        service,
        ...Object.fromEntries(names.map((name) => [name, values[name]]))
      }) + '\n')
    }
  }
}

/**
 * Once a minute, and when it is closed, so that nothing that was counted is missing.
 * @param {import('prom-client').Registry} registry @param {string | null} [service] without it, never
 * @returns {{ close: () => Promise<void> }}
 */
export function startEmbedded (registry, service) {
  if (!service) return { close: async () => {} }
  const write = createEmbedded(registry, { service })
  // a figure of a server that is away; counters are in the next line
  const tell = () => write().catch(() => {})
  const timer = setInterval(tell, PERIOD_MS).unref()
  return {
    close () {
      clearInterval(timer)
      return tell()
    }
  }
}
