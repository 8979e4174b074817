/**
 * What the servers say of themselves, asked once a scrape for all of these metrics together.
 *
 * A scrape never waits long for a server: figures that are not there in time are absent from it, not zero. While an
 * answer is outstanding no second question is put.
 */
import { counter, gauge } from './scrape.js'

/** longer than a connection's own deadline usually is, so that a silent node takes only itself away; well below the 10 s of a scrape */
const WAIT_MS = 2000

/** @typedef {import('../store/nodes.js').NodeFigures} NodeFigures */
/** @typedef {() => Promise<NodeFigures[]>} Figures of the nodes that answer */

/** @param {import('prom-client').Registry} registry @param {Figures} figures */
export function registerNodes (registry, figures) {
  const ask = once(figures)
  /**
   * @param {typeof counter} kind @param {string} name @param {string} help @param {(node: NodeFigures) => number} read
   * @param {{ labels?: (node: NodeFigures) => Record<string, string>, only?: (node: NodeFigures) => boolean }} [which]
   */
  const ofNodes = (kind, name, help, read, { labels = () => ({}), only = () => true } = {}) =>
    kind(registry, { name, help, labels: ['role', 'node', ...Object.keys(labels(/** @type {any} */ ({})))] }, async () =>
      (await within(ask(), WAIT_MS)).filter(only).map((node) => [{ role: node.role, node: node.address, ...labels(node) }, read(node)]))

  ofNodes(counter, 'freshet_node_cpu_seconds_total', 'Processor time of the server processes, user and system, by role and node', ({ cpuSeconds }) => cpuSeconds)
  ofNodes(counter, 'freshet_node_full_syncs_total', 'Times a replica had to copy everything from this node', ({ fullSyncs }) => fullSyncs)
  ofNodes(gauge, 'freshet_node_memory_used_bytes', 'Memory in use by the server (used_memory)', ({ usedMemoryBytes }) => usedMemoryBytes)
  ofNodes(gauge, 'freshet_node_link_up', 'Whether a replica is linked to its primary', ({ linkUp }) => Number(linkUp), { only: ({ role }) => role === 'replica' })
  ofNodes(gauge, 'freshet_node_info', 'Always 1; the engine of each node', () => 1, { labels: ({ engine }) => ({ engine }) })
}

/** @param {Figures} figures @returns {Figures} which never rejects, and answers all who ask meanwhile */
function once (figures) {
  /** @type {Promise<NodeFigures[]> | null} */
  let asked = null
  return () => {
    asked ??= figures().catch(() => []).finally(() => { asked = null })
    return asked
  }
}

/** @param {Promise<NodeFigures[]>} answer @param {number} ms @returns {Promise<NodeFigures[]>} nothing, when it does not come in time */
async function within (answer, ms) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(() => resolve([]), ms) })
  const first = await Promise.race([answer, late])
  clearTimeout(timer)
  return first
}
