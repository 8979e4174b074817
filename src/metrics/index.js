/**
 * Metrics of processes that write or read; HTTP has its own (http/server.js). The counters live elsewhere and are read at each
 * scrape, so a metric costs nothing per item. docs/metrics.md lists all metrics.
 *
 * @typedef {import('./admission.js').AdmissionMetrics} AdmissionMetrics
 * @typedef {import('./admission.js').Figures} ConsumerFigures
 * @typedef {import('./admission.js').ConsumerMetrics} ConsumerMetrics
 */
import { Registry } from 'prom-client'
import { registerFeeds, registerNodes, registerViews } from './feeds.js'
import { counter, gauge, unlabelled } from './scrape.js'

/**
 * Metrics of a process that writes feeds.
 * @param {{ figures: () => Promise<import('../store/index.js').NodeFigures[]> }} options `figures`: of the nodes that answer
 */
export function createWriterMetrics ({ figures }) {
  const registry = new Registry()
  const { open, ...feeds } = registerFeeds(registry)
  registerNodes(registry, figures)
  return {
    registry,
    ...feeds,
    /**
     * For /readyz: whether every open feed accepts items. `feeds`: number of open feeds.
     * @returns {{ ready: boolean, reasons: string[], nodes: never[], feeds: number }}
     */
    status () {
      const all = open()
      const reasons = all.flatMap(([feed, writer]) =>
        writer.status().reasons.map((reason) => all.length > 1 ? `${feed}: ${reason}` : reason))
      return { ready: reasons.length === 0, reasons, nodes: [], feeds: all.length }
    }
  }
}

/** @typedef {ReturnType<typeof createWriterMetrics>} WriterMetrics */

/**
 * Metrics of a reader process.
 * @param {import('../store/index.js').Servers} deployment
 * @param {import('../view/index.js').Views['figures']} [views] default: none
 * @returns {Registry}
 */
export function createReaderRegistry (deployment, views = () => ({ views: [], counts: [], bound: { closed: 0, refused: 0 } })) {
  const registry = new Registry()
  registerNodes(registry, deployment.figures)
  gauge(registry, {
    name: 'freshet_replica_lag_seconds',
    help: 'Replication lag behind the primary; absent while the primary is unreachable',
    labels: ['node']
  }, () =>
    deployment.nodes().flatMap(({ role, address, lagMs }) =>
      role === 'replica' && lagMs !== null ? [[{ node: address }, lagMs / 1000]] : []))
  gauge(registry, {
    name: 'freshet_node_connected', help: '1 if this process is connected to the node, else 0', labels: ['role', 'node']
  }, () =>
    deployment.nodes().map(({ role, address, connected }) => [{ role, node: address }, Number(connected)]))
  gauge(registry, {
    name: 'freshet_primary_unconfirmed_seconds',
    help: 'Time since the last contact with the primary, by this process or a replica; 0 while it is confirmed'
  }, () => [[{}, deployment.unconfirmedMs / 1000]])
  counter(registry, { name: 'freshet_lookups_total', help: 'Total round trips to primaries for names that a replica did not have' },
    () => unlabelled(deployment.lookups.questions))
  counter(registry, { name: 'freshet_lookups_refused_total', help: 'Total names refused because too many waited for the primary' },
    () => unlabelled(deployment.lookups.refused))
  registerViews(registry, views)
  return registry
}

export { createEmbedded, startEmbedded } from './embedded.js'
export { counter, gauge, registerProcess, unlabelled } from './scrape.js'

export { createAdmissionMetrics, createConsumerMetrics } from './admission.js'
