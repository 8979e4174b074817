/** The connections of a user's system, and what decides its commands on them. */
import { createOwnRules, createStopper, expectDurability, REPLY_MS, systemKey } from '../admission/index.js'
import { createRoutes } from '../store/index.js'
import { openAdmission } from './admission.js'

/** @import { Definition } from './checked-definition.js' */
/** @import { Metrics } from './opened.js' */

/**
 * Opens a system, once all processes agree on it.
 * @param {Definition} definition @param {any} settings @param {string} name of connections
 * @param {Metrics} metrics
 * @throws {FreshetError} RULE_FAILED, RULE_DIFFERS, SYSTEM_DIFFERS, DURABILITY_UNSUPPORTED, and why the primary cannot be used
 */
export async function connect ({ name: system, rules }, settings, name, metrics) {
  const { redisUrl: primaryUrl, keyPrefix, partitions, deadlineMs, durability, log } = settings
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const stopper = createStopper({ name: `${name}:stop`, log })
  const routes = createRoutes({ primaryUrl, name, deadlineMs: Math.max(deadlineMs, REPLY_MS) })
  const reads = createRoutes({ primaryUrl, name: `${name}:reads`, deadlineMs })
  const closing = [routes.close, reads.close, stopper.close]
  const close = async () => { await Promise.all(closing.map((end) => end())) }

  async function opened () {
    const own = createOwnRules({ keyPrefix, system, rules, watch: stopper.watch })
    await Promise.all([routes.opened, reads.opened])
    for (const connection of routes.connections) {
      stopper.open(connection.url)
      await expectDurability(connection, durability)
    }
    await own.check(routes.route(systemKey(keyPrefix, system)).connection)
    const isCached = Object.keys(own.memory.certain).length > 0
    const admission = openAdmission({ name: system }, { ...settings, systemPartitions: partitions },
      { routes, reads, primaryUrl, name, durability, own, isCached, metrics, log })
    const { submit, target, target: { keyOf } } = admission
    closing.push(admission.close)
    await admission.agreed()
    await own.agree(routes.router, all.map(keyOf))
    /** Throws why there is no primary. */
    const expectPrimary = () => { for (const partition of all) routes.route(keyOf(partition)('')) }
    return { target, submit, expectPrimary, close }
  }

  return opened().catch(async (error) => {
    await close()
    throw error
  })
}
