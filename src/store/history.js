/**
 * The history of writes that a node has: its replication id, from INFO. A replica in sync has the id of its primary, also when it
 * follows another replica; after a failover all nodes behind the new primary have a new id. So it shows whether a replica belongs
 * to this primary: offsets of different histories cannot be compared. A promoted replica starts a new history, and names the one that it
 * continues.
 */
import { replicationId } from './nodes.js'

/** the id may change without notice: the first replica of a primary starts a new history */
const ASK_AGAIN_MS = 1000

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof createHistory>} History */

/**
 * Whether a node has a history that is known, or continues it. One that left it before `offset` has lost what others have.
 * @param {import('./nodes.js').ReplicationFacts} node @param {{ id: string | null, offset: number }} known
 */
export const continues = (node, known) => known.id !== null &&
  (node.id === known.id || (node.idBefore === known.id && node.endOffset >= known.offset))

export function createHistory () {
  /** @type {string | null} */
  let id = null
  let askedAbout = ''
  let askedMs = -Infinity
  /** @type {Connection | null} */
  let askedOf = null

  /** @param {Connection} connection */
  async function ask (connection) {
    askedMs = performance.now()
    id = await replicationId(connection)
  }

  return {
    /** null = not known. */
    get id () { return id },
    ask,
    /**
     * Asks after a second, on another connection, or when `about` changes.
     * @param {Connection} connection
     * @param {string} about what else is known about the node
     */
    async look (connection, about) {
      if (about === askedAbout && connection === askedOf && performance.now() - askedMs < ASK_AGAIN_MS) return
      await ask(connection)
      askedAbout = about
      askedOf = connection
    }
  }
}
