/**
 * What decides the commands of a system in one process, in gateways, readers, consumers and the library: where the system is, as all
 * processes agree, its admission, the rejection cache, and what confirms decisions. The last two have connections of their own.
 *
 * @import { Entry, KeepSecret, OwnRules } from '../admission/index.js'
 * @import { Connection, Routes } from '../store/index.js'
 * @import { System } from './definition.js'
 * @import { Logger } from 'pino'
 */
import { createAdmission, createAgreement, createRejections, openConfirms } from '../admission/index.js'
import { openerOf } from '../store/index.js'

/**
 * @param {Pick<System, 'name' | 'keepsUnread'> & { rules?: readonly string[] }} definition
 * @param {any} settings of a process
 * @param {object} parts
 * @param {Routes} parts.routes to the primaries, for commands @param {Routes} [parts.reads] without it, those of commands
 * @param {string} parts.primaryUrl @param {string} parts.name of connections
 * @param {string} [parts.durability] without it, what the primary has decided is confirmed
 * @param {KeepSecret} [parts.keepSecret] as createAgreement
 * @param {OwnRules} [parts.own] rules of a user
 * @param {boolean} [parts.isCached] whether certain rejections are answered from memory
 * @param {(entry: Entry) => void} [parts.onEntry] gets every event of the system
 * @param {Parameters<typeof createAdmission>[0]['metrics'] & Parameters<typeof createRejections>[0]['metrics']} parts.metrics
 * @param {Logger} parts.log
 */
export function openAdmission ({ name: system, rules, keepsUnread: isRead }, settings, {
  routes, reads = routes, primaryUrl, name, durability = 'memory', keepSecret, own, isCached = false, onEntry, metrics, log
}) {
  const { keyPrefix, systemPartitions: partitions, deadlineMs, requestMs, ackWithinMs: waitMs } = settings
  const agreement = createAgreement({ router: routes.router, keyPrefix, system, partitions, rules, keepSecret })
  const { agreed, keyOf, partitionOf } = agreement
  const connectionOf = (/** @type {number} */ partition) => reads.route(keyOf(partition)('')).connection
  const target = { system, primaryUrl, name, deadlineMs, partitions, keyOf, partitionOf, connectionOf, log }
  const confirms = openConfirms({ ...target, name: `${name}:confirm`, durability, waitMs })
  const rejections = isCached || onEntry
    ? createRejections({
      ...openerOf(primaryUrl, { name: `${name}:outbox`, deadlineMs }), ...target, agreed, requestMs, rules: own?.memory, onEntry, metrics
    })
    : undefined
  const admission = createAdmission({
    ...settings,
    batches: settings.batches !== 'no',
    route: routes.route,
    agreement,
    isRead,
    own,
    rejections: isCached ? rejections : undefined,
    confirmOf: confirms.of,
    metrics
  })
  return {
    ...admission,
    /** Where the system is; its keys are known once all agree. */
    target,
    close: () => Promise.all([rejections?.close(), confirms.close()])
  }
}

/**
 * How durable the commands of a system are.
 * @param {Pick<System, 'durability' | 'hasRows'>} definition @param {string | null} setting
 * @param {boolean} hasReplica whether the primary has one
 */
export function durabilityOf ({ durability, hasRows = false }, setting, hasReplica) {
  if (setting !== null && (setting !== 'db' || hasRows)) return setting
  return durability === 'replica' && hasReplica ? 'replica' : 'memory'
}

/** @param {Connection} connection to the primary */
export const hasReplicas = async (connection) =>
  /^connected_slaves:[1-9]/m.test(String(await connection.send('INFO', 'replication')))
