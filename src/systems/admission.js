/**
 * What decides the commands of a system in one process: admission, the rejection cache, and what confirms decisions. The last two have
 * connections of their own.
 */
import { createAdmission, createRejections, openConfirms } from '../admission/index.js'
import { partitionOf } from '../item/index.js'
import { openerOf } from '../store/index.js'

/**
 * @param {string} system
 * @param {{ keyPrefix: string, partitions: number, deadlineMs: number, requestMs: number, keepMs: number, ackWithinMs: number,
 *   maxOutbox?: number, maxWaiting?: number, batches?: boolean }} settings as createAdmission; `ackWithinMs`: how long a confirm may take
 * @param {object} parts
 * @param {import('../admission/index.js').Agreement} parts.agreement
 * @param {import('../store/index.js').Routes} parts.routes to the primaries, for commands
 * @param {string} parts.primaryUrl @param {string} parts.name of connections
 * @param {(partition: number) => import('../store/index.js').Connection} parts.connectionOf for the reads of the cache
 * @param {string} parts.durability
 * @param {boolean} [parts.isRead] as createAdmission
 * @param {import('../admission/index.js').OwnRules} [parts.own] rules of a user
 * @param {boolean} parts.isCached whether certain rejections are answered from memory
 * @param {(entry: import('../admission/index.js').Entry) => void} [parts.onEntry] gets every event of the system
 * @param {Parameters<typeof createAdmission>[0]['metrics'] & Parameters<typeof createRejections>[0]['metrics']} parts.metrics
 * @param {import('pino').Logger} parts.log
 */
export function openAdmission (system, settings, parts) {
  const { agreement, routes, primaryUrl, name, connectionOf, durability, isRead, own, isCached, onEntry, metrics, log } = parts
  const { partitions, deadlineMs, requestMs, ackWithinMs: waitMs } = settings
  const { agreed, keyOf } = agreement
  const confirms = openConfirms({ primaryUrl, name: `${name}:confirm`, keyOf, durability, deadlineMs, waitMs })
  const rejections = isCached || onEntry
    ? createRejections({
      ...openerOf(primaryUrl, { name: `${name}:outbox`, deadlineMs }),
      agreed,
      connectionOf,
      keyOf,
      partitionOf: (key) => partitionOf(Buffer.from(key), partitions),
      partitions,
      requestMs,
      rules: own?.memory,
      onEntry,
      log,
      metrics
    })
    : undefined
  const admission = createAdmission({
    ...settings,
    route: routes.route,
    system,
    isRead,
    own,
    rejections: isCached ? rejections : undefined,
    confirmOf: confirms?.of,
    agreement,
    metrics
  })
  return { ...admission, close: () => Promise.all([rejections?.close(), confirms?.close()]) }
}
