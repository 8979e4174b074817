/** Settings of a process as a system of it takes them, in gateways and consumers. */

/** Of admission. @param {any} settings */
export const admissionSettings = ({ keyPrefix, systemPartitions: partitions, deadlineMs, requestMs, keepMs, ackWithinMs, batches }) =>
  ({ keyPrefix, partitions, deadlineMs, requestMs, keepMs, ackWithinMs, batches: batches !== 'no' })

/**
 * How durable the commands of a system are.
 * @param {Pick<import('../src/systems/inside.js').System, 'durability' | 'hasRows'>} definition @param {string | null} setting
 * @param {boolean} hasReplica whether the primary has one
 */
export function durabilityOf ({ durability, hasRows = false }, setting, hasReplica) {
  if (setting !== null && (setting !== 'db' || hasRows)) return setting
  return durability === 'replica' && hasReplica ? 'replica' : 'memory'
}

/** @param {import('../src/store/index.js').Connection} connection to the primary */
export const hasReplicas = async (connection) =>
  /^connected_slaves:[1-9]/m.test(String(await connection.send('INFO', 'replication')))
