/**
 * What an ended epoch had sent may still be under way, and would arrive after it was sent again and overwritten. So the
 * next epoch has the server drop the one before, if it was on the same server: ids of clients are its own.
 *
 *     server   A    B    A                 a switchover there and back
 *     epoch    1    2    3 ends 1
 *
 * The first epoch on a server has nothing to end, and asks for it all the same: a user who may not would else be found out
 * when the first connection is lost.
 */

/** an id that no client has */
const NOBODY = Number.MAX_SAFE_INTEGER
/** more than a deployment has; one that is restarted is another one */
const SERVERS = 16

/** Of one lane. */
export function createFence () {
  /** @type {Map<string, number>} the last client of each server, by run id; the server that was left first, first */
  const clients = new Map()

  /**
   * Resolves when nothing of the epochs before can come any more.
   * @param {import('../store/connection.js').Connection} connection
   * @param {{ runId?: string }} server one that does not say who it is may be any: nothing is ended there
   */
  return async (connection, { runId }) => {
    const before = runId === undefined ? undefined : clients.get(runId)
    await connection.send('CLIENT', 'KILL', 'ID', before ?? NOBODY)
    const clientId = await connection.send('CLIENT', 'ID')
    if (runId === undefined) return
    clients.delete(runId)
    clients.set(runId, clientId)
    if (clients.size > SERVERS) clients.delete(/** @type {string} */ (clients.keys().next().value))
  }
}
