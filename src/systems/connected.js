/** The connections of a user's system, and what decides its commands on them. */
import {
  createAdmission, createAgreement, createOwnRules, createRejections, createStopper, expectDurability, openConfirms, REPLY_MS, systemKey
} from '../admission/index.js'
import { partitionOf as partitionOfId } from '../item/index.js'
import { createRoutes, openerOf } from '../store/index.js'

/** @typedef {import('./opened.js').Definition} Definition */
/** @typedef {import('./opened.js').Metrics} Metrics */

/**
 * The connections of a system, and what decides its commands, once all processes agree on it.
 * @param {Definition} definition @param {any} settings @param {string} name of connections
 * @param {{ account: { cached: number }, metrics: Metrics }} counters
 * @throws {FreshetError} RULE_FAILED, RULE_DIFFERS, SYSTEM_DIFFERS, DURABILITY_UNSUPPORTED, and why the primary cannot be used
 */
export async function connect ({ name: system, rules }, settings, name, { account, metrics }) {
  const { redisUrl: primaryUrl, keyPrefix, partitions, deadlineMs, log } = settings
  const stopper = createStopper({ name: `${name}:stop`, log })
  const routes = createRoutes({ primaryUrl, name, deadlineMs: Math.max(deadlineMs, REPLY_MS) })
  const reads = createRoutes({ primaryUrl, name: `${name}:reads`, deadlineMs })
  const agreement = createAgreement({ router: routes.router, keyPrefix, system, partitions })
  const { keyOf } = agreement
  const confirms = openConfirms({ ...settings, primaryUrl, name: `${name}:confirm`, keyOf, waitMs: settings.ackWithinMs })
  const own = createOwnRules({ keyPrefix, system, rules, watch: stopper.watch })
  const close = () => Promise.all([routes.close(), reads.close(), confirms?.close(), stopper.close()])

  async function agree () {
    await Promise.all([routes.opened, reads.opened])
    for (const connection of routes.connections) {
      stopper.open(connection.url)
      await expectDurability(connection, settings.durability)
    }
    await own.check(routes.route(systemKey(keyPrefix, system)).connection)
    await agreement.agreed()
    await own.agree(routes.router, Array.from({ length: partitions }, (_, partition) => keyOf(partition)))
  }
  await agree().catch(async (error) => {
    await close()
    throw error
  })

  const target = {
    system,
    primaryUrl,
    keyOf,
    partitionOf: (/** @type {string} */ key) => partitionOfId(Buffer.from(key), partitions),
    partitions,
    connectionOf: (/** @type {number} */ partition) => reads.route(keyOf(partition)('')).connection,
    deadlineMs,
    name,
    log
  }
  const cache = Object.keys(own.memory.certain).length > 0 ? openCache(settings, { ...target, rules: own.memory, account, metrics }) : null
  const admission = createAdmission({
    ...settings,
    route: routes.route,
    system,
    own,
    rejections: cache?.rejections,
    agreement,
    confirmOf: confirms?.of,
    metrics
  })

  return {
    target,
    submit: admission.submit,
    /** Throws why there is no primary. */
    expectPrimary () { for (let partition = 0; partition < partitions; partition++) routes.route(keyOf(partition)('')) },
    close: () => Promise.all([cache?.close(), close()])
  }
}

/**
 * Certain rejections, from a memory of keys that follows the outboxes on a connection of its own.
 * @param {{ requestMs: number }} settings
 * @param {Pick<Parameters<typeof createRejections>[0], 'keyOf' | 'partitionOf' | 'partitions' | 'rules' | 'log'> &
 *   { primaryUrl: string, name: string, deadlineMs: number, account: { cached: number }, metrics: Metrics,
 *   connectionOf: (partition: number) => import('../store/index.js').Connection }} target
 */
function openCache ({ requestMs }, { primaryUrl, name, deadlineMs, account, metrics, ...target }) {
  const rejections = createRejections({
    ...target,
    ...openerOf(primaryUrl, { name: `${name}:outbox`, deadlineMs }),
    requestMs,
    metrics: {
      ...metrics,
      answered () {
        account.cached++
        metrics.answered()
      }
    }
  })
  return { rejections, close: rejections.close }
}
