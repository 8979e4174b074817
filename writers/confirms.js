/** How durable the commands of a system are. */
export { openConfirms } from '../src/admission/index.js'

/** A setting, or without one that fits orders, what the primary can do. @param {string | null} durability @param {boolean} hasReplica */
export const durabilityOfOrders = (durability, hasReplica) =>
  durability === null || durability === 'db' ? hasReplica ? 'replica' : 'memory' : durability

/** @param {import('../src/store/index.js').Connection} connection to the primary */
export const hasReplicas = async (connection) =>
  /^connected_slaves:[1-9]/m.test(String(await connection.send('INFO', 'replication')))
