/**
 * The systems of a gateway: what the commands of each definition run on (src/systems/definition.js). Ours open with their first command.
 *
 * @typedef {Awaited<ReturnType<typeof openSystems>>} Systems
 */
import { createDeadLetters } from '../../src/consumers/index.js'
import { expectDurability, systemKey } from '../../src/admission/index.js'
import { createAdmissionMetrics } from '../../src/metrics/index.js'
import { createEventWaits, durabilityOf, hasReplicas } from '../../src/systems/inside.js'
import { createSecrets, watchDatabase } from './database.js'
import { openSystem } from './system.js'

/**
 * @param {any} settings @param {readonly import('../../src/systems/inside.js').Definition[]} definitions
 * @param {{ servers: import('../../src/store/index.js').Servers, registry: import('prom-client').Registry,
 *   log: import('pino').Logger, signal: AbortSignal }} parts
 */
export function openSystems (settings, definitions, { servers, registry, log, signal }) {
  const { keyPrefix, deadlineMs, durability } = settings
  const name = `freshet-gateway-${process.pid}`
  const routes = servers.primaries({ name: `${name}:commands`, deadlineMs })
  const metricsOf = createAdmissionMetrics(registry)
  const secrets = settings.databaseUrl === null ? null : createSecrets(settings, { name, log })
  /** @type {(() => Promise<unknown>)[]} */
  const closing = []
  let hasReplica = false

  function watch () {
    const health = watchDatabase(settings, { name, log, signal })
    closing.push(health.close)
    return health
  }

  /** @param {import('../../src/systems/inside.js').Definition} definition */
  function open (definition) {
    const { name: system, gateway } = definition
    const counters = metricsOf(system)
    /** It is made from what is made here. @type {ReturnType<typeof gateway> | null} */
    let own = null
    const opened = openSystem(settings, definition, {
      servers,
      routes,
      name: `${name}:${system}`,
      durability: () => durabilityOf(definition, durability, hasReplica),
      keepSecret: definition.keepsSecret ? secrets?.keep(system) : undefined,
      onEntry: () => own?.onEntry,
      metrics: counters,
      log
    })
    /** @type {import('../../src/systems/inside.js').GatewayParts} */
    const parts = {
      ...opened.commands,
      settings,
      counters,
      router: routes.router,
      async primaryIds () {
        const { keyOf, partitions } = await opened.target()
        return Array.from({ length: partitions }, (_, partition) => routes.route(keyOf(partition)('')).replicationId).join()
      },
      systemKey: systemKey(keyPrefix, system),
      waits: createEventWaits,
      watchDatabase: watch,
      signal,
      log
    }
    own = gateway(parts)
    const { close } = own
    closing.push(async () => {
      await close?.()
      await opened.close()
    })
    const letters = async () => createDeadLetters({ ...await opened.target(), isNeeded: definition.isLetterNeeded })
    return { definition, own, parts, reasons: () => [...own.reasons?.() ?? [], ...opened.reasons()], notes: opened.notes, letters }
  }

  const all = definitions.map(open)

  return {
    all,

    /** Why systems decide nothing. */
    reasons: () => all.flatMap(({ reasons }) => reasons()),

    /** What else /readyz says. */
    notes: () => all.flatMap(({ notes }) => notes()),

    /**
     * Rejects settings that the primary cannot fulfil, if it can be asked, and looks whether it has replicas.
     * @throws {Error} DURABILITY_UNSUPPORTED
     */
    async check () {
      const isOpen = await routes.opened.then(() => true, () => false)
      if (!isOpen) return
      const { connections } = routes
      await Promise.all(connections.map((connection) => expectDurability(connection, durability)))
      hasReplica = (await Promise.all(connections.map(hasReplicas))).every(Boolean)
      log.info(Object.fromEntries(definitions.map((one) => [one.name, durabilityOf(one, durability, hasReplica)])), 'durability')
    },

    async close () {
      await Promise.all(closing.map((close) => close()))
      await Promise.all([secrets?.close(), routes.close()])
    }
  }
}
