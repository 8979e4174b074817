/** The connections of a user's system, and what decides its commands on them. */
import { createAgreement, createOwnRules, createStopper, expectDurability, REPLY_MS, systemKey } from '../admission/index.js'
import { createRoutes } from '../store/index.js'
import { openAdmission } from './admission.js'

/** @import { Definition, Metrics } from './opened.js' */

/**
 * The connections of a system, and what decides its commands, once all processes agree on it.
 * @param {Definition} definition @param {any} settings @param {string} name of connections
 * @param {{ account: { cached: number }, metrics: Metrics }} counters
 * @throws {FreshetError} RULE_FAILED, RULE_DIFFERS, SYSTEM_DIFFERS, DURABILITY_UNSUPPORTED, and why the primary cannot be used
 */
export async function connect ({ name: system, rules }, settings, name, { account, metrics }) {
  const { redisUrl: primaryUrl, keyPrefix, partitions, deadlineMs, durability, log } = settings
  const stopper = createStopper({ name: `${name}:stop`, log })
  const routes = createRoutes({ primaryUrl, name, deadlineMs: Math.max(deadlineMs, REPLY_MS) })
  const reads = createRoutes({ primaryUrl, name: `${name}:reads`, deadlineMs })
  const agreement = createAgreement({ router: routes.router, keyPrefix, system, partitions })
  const { keyOf } = agreement
  const own = createOwnRules({ keyPrefix, system, rules, watch: stopper.watch })
  const close = () => Promise.all([routes.close(), reads.close(), stopper.close()])

  async function agree () {
    await Promise.all([routes.opened, reads.opened])
    for (const connection of routes.connections) {
      stopper.open(connection.url)
      await expectDurability(connection, durability)
    }
    await own.check(routes.route(systemKey(keyPrefix, system)).connection)
    await agreement.agreed()
    await own.agree(routes.router, Array.from({ length: partitions }, (_, partition) => keyOf(partition)))
  }
  await agree().catch(async (error) => {
    await close()
    throw error
  })

  const connectionOf = (/** @type {number} */ partition) => reads.route(keyOf(partition)('')).connection
  const { submit, partitionOf, close: closeAdmission } = openAdmission(system, settings, {
    agreement,
    routes,
    primaryUrl,
    name,
    connectionOf,
    durability,
    own,
    isCached: Object.keys(own.memory.certain).length > 0,
    metrics: {
      ...metrics,
      answered () {
        account.cached++
        metrics.answered()
      }
    },
    log
  })

  return {
    target: { system, primaryUrl, keyOf, partitionOf, partitions, connectionOf, deadlineMs, name, log },
    submit,
    /** Throws why there is no primary. */
    expectPrimary () { for (let partition = 0; partition < partitions; partition++) routes.route(keyOf(partition)('')) },
    close: () => Promise.all([closeAdmission(), close()])
  }
}
