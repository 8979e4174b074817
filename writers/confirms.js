/** What confirms the decisions of a system: connections of their own, because WAIT blocks the one that it is sent on. */
import { createConfirm } from '../src/admission/index.js'
import { createRoutes } from '../src/store/index.js'

/**
 * @param {{ primaryUrl: string, name: string, keyOf: (partition: number) => (part: string) => string, durability: string,
 *   deadlineMs: number, waitMs: number }} options `name`: of the connections
 * @returns {{ of: (partition: number) => ReturnType<typeof createConfirm>, close: () => Promise<void> } | null} null: what the primary has
 *   decided is confirmed
 */
export function openConfirms ({ primaryUrl, name, keyOf, durability, deadlineMs, waitMs }) {
  if (durability !== 'replica' && durability !== 'aof') return null
  const routes = createRoutes({ primaryUrl, name, deadlineMs: deadlineMs + waitMs })
  return {
    of: (partition) => createConfirm({
      route: () => routes.route(partition), key: keyOf(partition), marker: `marker:${process.pid}`, durability, waitMs
    }),
    close: () => routes.close()
  }
}

/** A setting, or without one that fits orders, what the primary can do. @param {string | null} durability @param {boolean} hasReplica */
export const durabilityOfOrders = (durability, hasReplica) =>
  durability === null || durability === 'db' ? hasReplica ? 'replica' : 'memory' : durability

/** @param {import('../src/store/index.js').Connection} connection to the primary */
export const hasReplicas = async (connection) =>
  /^connected_slaves:[1-9]/m.test(String(await connection.send('INFO', 'replication')))
