/**
 * What decides the commands of a system in one process, in gateways, readers, consumers and the library: where the system is, as all
 * processes agree, its admission, the rejection cache, and what confirms decisions. The last two have connections of their own.
 *
 * @import { Entry, KeepSecret } from '../admission/index.js'
 * @import { Connection, Primaries } from '../store/index.js'
 * @import { Definition } from './parts.js'
 * @import { Logger } from 'pino'
 */
import { createAdmission, createAgreement, createPartitionClock, createRejections, oursIn, openConfirms } from '../admission/index.js'
import { attachedReplicas, createPrimaries, streamsAt } from '../store/index.js'
import { connect } from './connected.js'

/** @typedef {ReturnType<typeof openAdmission>} OpenAdmission */

/**
 * @param {Pick<Definition, 'name' | 'keepsUnread'> & { rules?: Record<string, any> }} definition
 * @param {any} settings of a process
 * @param {object} parts
 * @param {Primaries} [parts.routes] to the primaries, which several systems share; those with rules of a user have their own
 * @param {string} parts.primaryUrl @param {string} parts.name of connections
 * @param {string} [parts.durability] without it, what the primary has decided is confirmed
 * @param {KeepSecret} [parts.keepSecret] as createAgreement
 * @param {boolean} [parts.isCached] whether certain rejections are answered from memory
 * @param {(entry: Entry) => void} [parts.onEntry] gets every event of the system
 * @param {Parameters<typeof createAdmission>[0]['metrics'] & Parameters<typeof createRejections>[0]['metrics'] &
 *   Parameters<typeof createPartitionClock>[0]['metrics']} parts.metrics
 * @param {Logger} parts.log
 */
export function openAdmission ({ name: system, rules = {}, keepsUnread: isRead }, settings, {
  routes: shared, primaryUrl, name, durability = 'memory', keepSecret, isCached = false, onEntry, metrics, log
}) {
  const { keyPrefix, systemPartitions: partitions, deadlineMs, requestMs, ackWithinMs: waitMs } = settings
  const ours = oursIn(rules)
  const connected = ours ? null : connect(rules, { system, keyPrefix, primaryUrl, name, deadlineMs, durability, log })
  const own = ours ?? /** @type {NonNullable<typeof connected>} */ (connected).own
  const routes = connected?.routes ?? shared ?? createPrimaries(primaryUrl, { name, deadlineMs, log })
  const reads = connected?.reads ?? routes
  const agreement = createAgreement({
    router: routes.router, keyPrefix, system, partitions, rules: own.names, own, prepare: connected?.prepare, keepSecret
  })
  const { agreed, keyOf, partitionOf } = agreement
  const connectionOf = (/** @type {number} */ partition) => reads.route(keyOf(partition)('')).connection
  const clock = createPartitionClock({ system, durations: own.durations, keyOf, metrics, log })
  const target = { system, names: own.memory.names, primaryUrl, name, deadlineMs, partitions, keyOf, partitionOf, connectionOf, clock, log }
  const confirms = openConfirms({ ...target, name: `${name}:confirm`, durability, waitMs })
  const rejections = isCached || onEntry
    ? createRejections({
      ...streamsAt(primaryUrl, { name: `${name}:streams`, deadlineMs }), ...target, agreed, requestMs, rules: own.memory, onEntry, metrics
    })
    : undefined
  const admission = createAdmission({
    ...settings,
    batches: settings.batches !== 'no',
    route: routes.route,
    agreement,
    isRead,
    own,
    clock,
    rejections: isCached ? rejections : undefined,
    confirmOf: confirms.of,
    metrics,
    log
  })
  return {
    ...admission,
    /** Where the system is; its keys are known once all agree. */
    target,
    routes,
    /** What /readyz says besides reasons. */
    notes: clock.notes,
    close: () => Promise.all([rejections?.close(), confirms.close(), (connected ?? (shared ? null : routes))?.close()])
  }
}

/**
 * How durable the commands of a system are.
 * @param {Pick<Definition, 'durability' | 'withoutReplica' | 'hasRows'>} definition @param {string | null} setting
 * @param {boolean} hasReplica whether the primary has one
 */
export function durabilityOf ({ durability, withoutReplica = durability, hasRows = false }, setting, hasReplica) {
  if (setting !== null && (setting !== 'db' || hasRows)) return setting
  return hasReplica ? durability : withoutReplica
}

/** @param {Connection} connection to the primary */
export const hasReplicas = async (connection) =>
  await attachedReplicas(connection) > 0
