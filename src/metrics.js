/**
 * Metrics of processes that write or read; HTTP has its own (http/metrics.js). Counts are kept by whoever counts them
 * and only read here when somebody scrapes, so a metric costs nothing per item.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30]

/**
 * @param {Registry} registry
 * @param {string} name @param {string} help
 * @param {() => number} read
 */
function counter (registry, name, help, read) {
  // eslint-disable-next-line no-new
  new Counter({
    name,
    help,
    registers: [registry],
    collect () {
      this.reset()
      this.inc(read())
    }
  })
}

/**
 * Metrics of one writer process.
 * @param {{ feed: string, figures: () => Promise<import('./store/nodes.js').NodeFigures[]> }} options
 */
export function createWriterMetrics ({ feed, figures }) {
  const registry = new Registry()
  registry.setDefaultLabels({ feed })
  const flushSeconds = new Histogram({ name: 'freshet_flush_seconds', help: 'From the sending of a batch to its acknowledgement', buckets: SECONDS, registers: [registry] })
  const behindSeconds = new Histogram({ name: 'freshet_behind_seconds', help: 'How late a flush started against its intended time', buckets: SECONDS, registers: [registry] })
  registerNodes(registry, figures)
  /** @type {import('./pipeline/feed-writer.js').FeedWriter | null} */
  let followed = null
  return {
    registry,
    /** For /readyz. */
    status: () => ({ ready: followed?.connected ?? false, reasons: followed?.connected ? [] : ['SERVER_LOST: the primary cannot be reached'], nodes: [] }),
    /** @param {number} seconds */
    flush: (seconds) => flushSeconds.observe(seconds),
    /** @param {number} behindMs */
    behind: (behindMs) => behindSeconds.observe(behindMs / 1000),

    /** @param {import('./pipeline/feed-writer.js').FeedWriter} writer */
    follow (writer) {
      followed = writer
      const { account } = writer.pipeline
      counter(registry, 'freshet_items_total', 'Items acknowledged', () => account.items)
      counter(registry, 'freshet_batches_total', 'Batches acknowledged', () => account.batches)
      counter(registry, 'freshet_dropped_total', 'Items dropped at the in-flight bound, or skipped by --catch-up no', () => account.dropped)
      counter(registry, 'freshet_failed_total', 'Items that were not acknowledged when the writer stopped', () => account.failed)
      counter(registry, 'freshet_retried_total', 'Items sent again after a lost connection or a full server', () => account.retried)
      counter(registry, 'freshet_server_full_total', 'Times the server had no memory for a batch', () => account.full)
      counter(registry, 'freshet_trimmed_total', 'Items this writer removed because they were not live any more', () => writer.trimmed)
      counter(registry, 'freshet_connections_total', 'Connections opened to the primary for batches', () => writer.epochs)
      // eslint-disable-next-line no-new
      new Counter({
        name: 'freshet_refused_total',
        help: 'Items refused, by reason',
        labelNames: ['reason'],
        registers: [registry],
        collect () {
          this.reset()
          for (const [reason, n] of Object.entries(account.refused)) this.inc({ reason }, n)
        }
      })
      // eslint-disable-next-line no-new
      new Gauge({
        name: 'freshet_inflight_bytes',
        help: 'Bytes appended and not yet acknowledged',
        registers: [registry],
        collect () { this.set(writer.pipeline.heldBytes) }
      })
    }
  }
}

/** @typedef {ReturnType<typeof createWriterMetrics>} WriterMetrics */

/**
 * Metrics of a reader process.
 * @param {import('./store/deployment.js').Deployment} deployment
 * @returns {Registry}
 */
export function createReaderRegistry (deployment) {
  const registry = new Registry()
  registerNodes(registry, deployment.figures)
  // eslint-disable-next-line no-new
  new Gauge({
    name: 'freshet_replica_lag_seconds',
    help: 'How far each replica is behind the primary; absent while the primary cannot be asked',
    labelNames: ['node'],
    registers: [registry],
    collect () {
      this.reset()
      for (const { role, address, lagMs } of deployment.nodes()) {
        if (role === 'replica' && lagMs !== null) this.set({ node: address }, lagMs / 1000)
      }
    }
  })
  return registry
}

/** @param {Registry} registry @param {() => Promise<import('./store/nodes.js').NodeFigures[]>} figures */
function registerNodes (registry, figures) {
  // eslint-disable-next-line no-new
  new Counter({
    name: 'freshet_node_cpu_seconds_total',
    help: 'Processor time of the server processes, user and system, by role and node',
    labelNames: ['role', 'node'],
    registers: [registry],
    async collect () {
      const nodes = await figures()
      this.reset()
      for (const { role, address, cpuSeconds } of nodes) this.inc({ role, node: address }, cpuSeconds)
    }
  })
}
