/** Connections of the caller's own to a node that may answer, for reads that block. */
import { openConnection } from './connection.js'

/** a node that refused such a connection is not asked again for so long */
const REFUSED_MS = 1000

/** @typedef {import('./node.js').Node} Node */

/**
 * @param {{ topology: import('./shard.js').Topology, name: string, deadlineMs: number, map: import('./slot-map.js').SlotMap,
 *   lagNow: (node: Node) => number | null } & Pick<ReturnType<typeof import('./choice.js').createChoice>, 'choose' | 'mayAnswer'>} parts
 */
export function createOwnChoice ({ topology, choose, mayAnswer, lagNow, name, deadlineMs, map }) {
  /** @throws {import('../errors.js').FreshetError} as Shard.pick; what the node refused within the last second */
  return () => {
    const node = choose({ isOwn: true })
    if (node.refusal && performance.now() - node.refusedMs < REFUSED_MS) throw node.refusal
    const { runId } = node
    const refuse = (/** @type {Error} */ refusal) => { Object.assign(node, { refusal, refusedMs: performance.now() }) }
    return {
      /** of the server that the node leads to */
      id: `${node.url} ${runId}`,
      /** The user may not do there what a connection is for. */
      refuse,
      /** @param {string} purpose @param {{ isForLog: boolean, isHeld?: () => boolean, signal: AbortSignal }} options */
      async open (purpose, options) {
        const own = { name: `${name}:${purpose}`, deadlineMs, map, ...options }
        const connection = await openConnection(node.link.url, own).catch((error) => {
          if (!error.retryable) refuse(error)
          throw error
        })
        return {
          connection,
          /** Whether another node should be used: this one may not answer, or its address leads to another server. */
          isLeft: () => !(mayAnswer(node) && node.runId === runId) && topology.nodes().some(mayAnswer),
          /** of the node, null = not known */
          lagMs: () => lagNow(node),
          /** Whether it has everything that the primary had at a time. @param {number} atMs performance.now() */
          /** Closes the connection. @param {Error | null} refusal if the user may not do what the connection is for */
          end (/** @type {Error | null} */ refusal) {
            if (refusal) refuse(refusal)
            connection.close()
          }
        }
      }
    }
  }
}
