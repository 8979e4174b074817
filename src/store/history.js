/**
 * The history of writes that a node has: its replication id, from INFO. A replica in sync has the id of its primary, also when it
 * follows another replica; after a failover all nodes behind the new primary have a new id. So it shows whether a replica belongs
 * to this primary: offsets of different histories cannot be compared.
 */
import { replicationId } from './nodes.js'

/** the id may change without notice: the first replica of a primary starts a new history */
const ASK_AGAIN_MS = 1000

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof createHistory>} History */

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
