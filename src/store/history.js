/**
 * Which history of writes a node has: its replication id, as INFO gives it. A replica in sync has its primary's, also one
 * that follows another replica; after a failover all who follow the new primary have a new one. So it tells whether a node
 * that is a replica is one of this primary: offsets of different histories say nothing of each other.
 */
import { replicationId } from './nodes.js'

/** it may change without a word: a primary whose first replica comes begins anew */
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
    /** Asks if there is a reason to. @param {Connection} connection @param {string} about what else is known of the node: something else is a reason */
    async look (connection, about) {
      if (about === askedAbout && connection === askedOf && performance.now() - askedMs < ASK_AGAIN_MS) return
      await ask(connection)
      askedAbout = about
      askedOf = connection
    }
  }
}
