/**
 * Commands of an ended session may still be in transit. They would arrive after the same batches were sent again, and
 * overwrite newer items. So each session has the server close the previous session on that server, by client id. Client
 * ids are per server, hence one id for each:
 *
 *     server   A    B    A                 a switchover there and back
 *     session  1    2    3 closes 1
 *
 * The first session on a server sends CLIENT KILL too, so that a missing permission shows at once.
 */

/** an id that no client has */
const NO_CLIENT = Number.MAX_SAFE_INTEGER
/** more than a deployment has; a restarted server counts as a new one */
const MAX_SERVERS = 16

/** For one stripe. */
export function createFence () {
  /** @type {Map<string, number>} last client id by run id, least recently used first */
  const clients = new Map()

  /**
   * Resolves when commands of earlier sessions can no longer arrive.
   * @param {import('../store/index.js').Connection} connection
   * @param {{ runId?: string }} server without a run id nothing is closed
   */
  return async (connection, { runId }) => {
    const before = runId === undefined ? undefined : clients.get(runId)
    await connection.send('CLIENT', 'KILL', 'ID', before ?? NO_CLIENT)
    const clientId = await connection.send('CLIENT', 'ID')
    if (runId === undefined) return
    clients.delete(runId)
    clients.set(runId, clientId)
    if (clients.size > MAX_SERVERS) clients.delete(/** @type {string} */ (clients.keys().next().value))
  }
}
