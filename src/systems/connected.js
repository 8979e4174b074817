/**
 * The connections of a system with rules of a user. A rule that never ends keeps the replies of its connection back until it is stopped, so
 * calls may take longer, and reads and leases have a connection of their own.
 */
import { createOwnRules, createStopper, expectDurability, REPLY_MS, systemKey } from '../admission/index.js'

/** @import { OwnRule } from '../admission/index.js' */

/**
 * @param {Record<string, OwnRule>} rules
 * @param {{ servers: import('../store/index.js').Servers, system: string, keyPrefix: string, name: string, deadlineMs: number,
 *   durability: string, log: import('pino').Logger }} parts `name` of connections
 */
export function connect (rules, { servers, system, keyPrefix, name, deadlineMs, durability, log }) {
  const routes = servers.primaries({ name, deadlineMs: Math.max(deadlineMs, REPLY_MS) })
  const reads = servers.primaries({ name: `${name}:reads`, deadlineMs })
  const own = createOwnRules({ keyPrefix, system, rules })
  const stopper = createStopper({ name: `${name}:stop`, owner: own.owner, primaries: () => routes.urls, log })
  /** A text that was refused once stays refused, and one that never ends keeps the server busy each time. @type {Error | null} */
  let refused = null

  return {
    own,
    routes,
    reads,

    /** @throws {FreshetError} RULE_FAILED, DURABILITY_UNSUPPORTED, and why the primary cannot be used */
    async prepare () {
      if (refused) throw refused
      // a busy server accepts no other connection
      await Promise.allSettled([stopper.look(), routes.opened, reads.opened])
      // the reason is that of the one that knows it sooner
      const [, { connection }] = [reads, routes].map((one) => one.route(systemKey(keyPrefix, system)))
      for (const one of routes.connections) await expectDurability(one, durability)
      await own.check(connection).catch((error) => {
        if (error.code === 'RULE_FAILED') refused = error
        throw error
      })
      await Promise.all(routes.connections.map(own.tidy)).catch(() => {})
    },

    close: () => Promise.all([routes.close(), reads.close(), stopper.close()])
  }
}
