/**
 * The systems of a gateway: what the commands of each definition run on (src/systems/definition.js). Ours open with their first command.
 *
 * @typedef {Awaited<ReturnType<typeof openSystems>>} Systems
 */
import { expectDurability, systemKey } from '../../src/admission/index.js'
import { createDeadLetters } from '../../src/consumers/index.js'
import { createAdmissionMetrics } from '../../src/metrics/index.js'
import { keepSecret, openDatabase } from '../../src/sql/index.js'
import { createEventWaits, durabilityOf, hasReplicas, openDefinition } from '../../src/systems/inside.js'
import { eachSecond, eachTick } from '../../src/ticks.js'
import { useDatabase } from '../database.js'

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
    let systemGateway = null
    const opened = openSystem(settings, definition, {
      servers,
      routes,
      name: `${name}:${system}`,
      durability: () => durabilityOf(definition, durability, hasReplica),
      keepSecret: definition.keepsSecret ? secrets?.keep(system) : undefined,
      onEntry: () => systemGateway?.onEntry,
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
    systemGateway = gateway(parts)
    const { close } = systemGateway
    closing.push(async () => {
      await close?.()
      await opened.close()
    })
    const letters = async () => createDeadLetters({ ...await opened.target(), isNeeded: definition.isLetterNeeded })
    const reasons = () => [...systemGateway.reasons?.() ?? [], ...opened.reasons()]
    return { definition, systemGateway, parts, reasons, notes: opened.notes, letters }
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
      log.info(Object.fromEntries(definitions.map((definition) =>
        [definition.name, durabilityOf(definition, durability, hasReplica)])), 'durability')
    },

    async close () {
      await Promise.all(closing.map((close) => close()))
      await Promise.all([secrets?.close(), routes.close()])
    }
  }
}

/**
 * One system in a gateway. Its admission and rejection cache begin with the first command, or when another process has stored the system,
 * so a gateway for feeds alone has one connection more and asks one key a second. A system with Lua begins at once.
 */

/**
 * @param {any} settings @param {import('../../src/systems/inside.js').Definition} definition
 * @param {Parameters<typeof openDefinition>[2] & { routes: import('../../src/store/index.js').Primaries }} parts as openDefinition
 */
function openSystem (settings, definition, parts) {
  const { name: system, hasLua, keepsSecret, isUncached } = definition
  const { routes, log } = parts
  const opening = openDefinition(definition, settings, { ...parts, isCached: !isUncached })

  async function agreed () {
    const stored = await opening.agreed()
    if (!keepsSecret) stopLooking()
    return stored
  }

  async function look () {
    if (!opening.isOpen && !await routes.router.send('EXISTS', systemKey(settings.keyPrefix, system))) return
    await agreed()
    if (keepsSecret) await opening.refresh()
  }

  const stopLooking = eachSecond(look, ({ code, message }) =>
    log[keepsSecret ? 'warn' : 'debug']({ system, code, reason: message }, 'a system cannot be looked at'))

  // a rule of a user that differs is known before the first command
  if (hasLua) agreed().catch(() => {})

  const { submit, stateOf, memberOf, mask, reasons, notes } = opening
  return {
    /** Where it is, once all processes agree on it. */
    async target () {
      await agreed()
      return opening.open().target
    },

    /** What the commands of a system need of its admission. */
    commands: { submit, agreed, stateOf, memberOf, mask },

    reasons,
    notes,

    async close () {
      stopLooking()
      await opening.close()
    }
  }
}

// The database in a gateway: whether it answers, and the secrets that it keeps.

const PING_EVERY_MS = 250
const CONNECTIONS = 2

/**
 * Whether the database answers, as of a moment ago.
 * @param {any} settings @param {{ name: string, log: import('pino').Logger, signal: AbortSignal }} parts
 */
function watchDatabase (settings, parts) {
  let isUp = false
  const using = useDatabase(settings, { ...parts, max: CONNECTIONS, deadlineMs: settings.deadlineMs, fail () { isUp = false } })
  using.catch((error) => parts.log.error({ code: error.code, reason: error.message }, 'there is no database'))
  let isAsking = false
  const stop = eachTick(PING_EVERY_MS, async () => {
    if (isAsking) return
    isAsking = true
    isUp = await using.then(({ database }) => database.query('SELECT 1')).then(() => true, () => false)
    isAsking = false
  })
  return {
    isUp: () => isUp,
    async close () {
      stop()
      await using.then((used) => used.close(), () => {})
    }
  }
}

/**
 * Secrets of systems in the database. It is opened when it is first needed.
 * @param {any} settings @param {{ name: string, log: import('pino').Logger }} parts
 */
function createSecrets ({ databaseUrl: url, deadlineMs }, parts) {
  /** @type {import('../../src/sql/index.js').Database | null} */
  let database = null
  return {
    /** @param {string} system @returns {import('../../src/admission/index.js').KeepSecret} */
    keep: (system) => (secret) => {
      database ??= openDatabase({ ...parts, url, max: 1, deadlineMs })
      return keepSecret(database, system, secret)
    },
    close: async () => database?.close()
  }
}
