/**
 * Metrics of the servers, read once per scrape for all of them together.
 *
 * A scrape never waits long for a server: figures that miss the deadline are absent, not zero. While a reply is pending, no
 * second request is sent.
 */
import { oneAtATime, within } from '../runtime/index.js'
import { counter, gauge } from './scrape.js'

/** above the usual deadline of a connection, so that one silent node does not hide the others; well below a scrape's 10 s */
const WAIT_MS = 2000

/** @typedef {import('../store/index.js').NodeFigures} NodeFigures */
/** @typedef {() => Promise<NodeFigures[]>} Figures of the nodes that answer */

/** @param {import('prom-client').Registry} registry @param {Figures} figures */
export function registerNodes (registry, figures) {
  const readFigures = oneAtATime(figures)
  /**
   * @param {typeof counter} kind @param {string} name @param {string} help @param {(node: NodeFigures) => number} read
   * @param {{ labels?: (node: NodeFigures) => Record<string, string>, only?: (node: NodeFigures) => boolean }} [which]
   */
  const ofNodes = (kind, name, help, read, { labels = () => ({}), only = () => true } = {}) =>
    kind(registry, { name, help, labels: ['role', 'node', ...Object.keys(labels(/** @type {any} */ ({})))] }, async () =>
      ((await within(readFigures(), WAIT_MS)) ?? []).filter(only)
        .map((node) => [{ role: node.role, node: node.address, ...labels(node) }, read(node)]))

  ofNodes(counter, 'freshet_node_cpu_seconds_total', 'Total CPU time of the server process, user and system',
    ({ cpuSeconds }) => cpuSeconds)
  ofNodes(counter, 'freshet_node_full_syncs_total', 'Total full synchronizations that replicas made from this node',
    ({ fullSyncs }) => fullSyncs)
  ofNodes(gauge, 'freshet_node_memory_used_bytes', 'Memory used by the server (used_memory)', ({ usedMemoryBytes }) => usedMemoryBytes)
  ofNodes(gauge, 'freshet_node_link_up', '1 if the replica is linked to its primary, else 0', ({ linkUp }) => Number(linkUp),
    { only: ({ role }) => role === 'replica' })
  ofNodes(gauge, 'freshet_node_info', 'Always 1; the labels carry engine and version of the node', () => 1,
    { labels: ({ engine }) => ({ engine }) })
}
