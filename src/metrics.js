/**
 * Metrics of processes that write or read; HTTP has its own (http/metrics.js). Counts are kept by whoever counts them
 * and only read here when somebody scrapes, so a metric costs nothing per item. docs/metrics.md lists all of them.
 */
import { Registry } from 'prom-client'
import { registerFeeds } from './metrics/feeds.js'
import { registerNodes } from './metrics/nodes.js'
import { gauge } from './metrics/scrape.js'
import { registerViews } from './metrics/views.js'

/**
 * Metrics of a process that writes feeds.
 * @param {{ figures: () => Promise<import('./store/nodes.js').NodeFigures[]> }} options of the nodes that answer
 */
export function createWriterMetrics ({ figures }) {
  const registry = new Registry()
  const { open, ...feeds } = registerFeeds(registry)
  registerNodes(registry, figures)
  return {
    registry,
    ...feeds,
    /**
     * For /readyz: whether every open feed takes items. `feeds`: how many are open.
     * @returns {{ ready: boolean, reasons: string[], nodes: never[], feeds: number }}
     */
    status () {
      const all = open()
      const reasons = all.flatMap(([feed, writer]) => writer.status().reasons.map((reason) => all.length > 1 ? `${feed}: ${reason}` : reason))
      return { ready: reasons.length === 0, reasons, nodes: [], feeds: all.length }
    }
  }
}

/** @typedef {ReturnType<typeof createWriterMetrics>} WriterMetrics */

/**
 * Metrics of a reader process.
 * @param {import('./store/deployment.js').Deployment} deployment
 * @param {import('./view/views.js').Views['figures']} [views] without it the process has none
 * @returns {Registry}
 */
export function createReaderRegistry (deployment, views = () => ({ views: [], counts: [] })) {
  const registry = new Registry()
  registerNodes(registry, deployment.figures)
  gauge(registry, { name: 'freshet_replica_lag_seconds', help: 'How far each replica is behind the primary; absent while the primary cannot be asked', labels: ['node'] }, () =>
    deployment.nodes().flatMap(({ role, address, lagMs }) => role === 'replica' && lagMs !== null ? [[{ node: address }, lagMs / 1000]] : []))
  gauge(registry, { name: 'freshet_node_connected', help: 'Whether this process is connected to the node', labels: ['role', 'node'] }, () =>
    deployment.nodes().map(({ role, address, connected }) => [{ role, node: address }, Number(connected)]))
  registerViews(registry, views)
  return registry
}
