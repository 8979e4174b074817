/**
 * A system, opened on the servers of a process: the one way for gateways, readers, consumers and the library. What decides its commands
 * opens when it is first asked for: where the system is, as all processes agree, its admission, the rejection cache, and what confirms
 * decisions. The last two have connections of their own.
 *
 *     gateway     submit, stateOf, mask, reasons      opens with its first command, or when another process has stored the system
 *     reader      openReading; submit                 keys in memory, read from replicas; commands go to the primary
 *     consumers   open().target, submit               at once; ends when another process has newer rules
 *     library     open().target, submit, reasons      at once
 *
 * @import { Command, Entry, KeepSecret, KeyState, Mask, OwnRule } from '../admission/index.js'
 * @import { Connection, LookUp, Primaries, Servers } from '../store/index.js'
 * @import { Definition } from './parts.js'
 * @import { Logger } from 'pino'
 */
import {
  createAdmission, createAgreement, createKeyView, createOwnRules, createPartitionClock, createRejections, createStopper,
  expectDurability, maskWith, openConfirms, oursIn, REPLY_MS, systemKey
} from '../admission/index.js'
import { publicReason } from '../errors.js'
import { attachedReplicas } from '../store/index.js'
import { createReading } from './reading.js'

/** @typedef {ReturnType<typeof openAdmission>} OpenAdmission */

/** A command of no user, which is not stored for replays. */
const UNASKED = Object.freeze({ scope: '', requestId: '' })

/** What differs from other processes is said in full; other messages may name servers and users. @param {any} error */
const reasonOf = (error) => /^(RULE|SYSTEM)_/.test(error.code) ? `${error.code}: ${error.message}` : publicReason(error)

/**
 * @param {Parameters<typeof openAdmission>[0]} definition @param {any} settings of a process
 * @param {Omit<Parts, 'durability' | 'onEntry'> & { durability?: () => string | undefined, onEntry?: () => Parts['onEntry'],
 *   onDiffers?: (error: Error) => void }} parts as openAdmission; `durability` and `onEntry` are asked when it opens; `onDiffers` gets why
 *   this process decides nothing more
 */
export function openDefinition (definition, settings, { durability = () => undefined, onEntry = () => undefined, onDiffers, ...parts }) {
  /** @type {OpenAdmission | null} */
  let opened = null
  /** another process has a newer rule @type {any} */
  let differs = null
  /** why processes do not agree on it, if that will not pass by itself @type {any} */
  let failure = null
  /** @type {Mask | null} */
  let mask = null

  const open = () => (opened ??= openAdmission(definition, settings, { ...parts, durability: durability(), onEntry: onEntry() }))

  /** @template T @param {Promise<T>} work @returns {Promise<T>} */
  const noted = (work) => work.catch((error) => {
    if (error.code === 'RULE_DIFFERS') {
      differs = error
      onDiffers?.(error)
    }
    throw error
  })

  /** @returns {ReturnType<OpenAdmission['agreed']>} */
  async function agreed () {
    try {
      const stored = await open().agreed()
      failure = null
      return stored
    } catch (error) {
      failure = error.retryable ? null : error
      throw error
    }
  }

  /** Certain rejections would come from memory. */
  const isOlder = () => differs ?? (failure?.code === 'RULE_DIFFERS' ? failure : null)

  return {
    open,
    get isOpen () { return opened !== null },
    agreed,
    refresh: () => open().refresh(),

    /** @param {Partial<Command> & Pick<Command, 'rule' | 'key' | 'args'>} command @returns {ReturnType<OpenAdmission['submit']>} */
    submit: (command) => isOlder() ? Promise.reject(isOlder()) : noted(open().submit({ ...UNASKED, ...command })),
    /** Of one key. @param {(Partial<Command> & Pick<Command, 'rule' | 'key' | 'args'>)[]} commands */
    submitAll: (commands) => isOlder()
      ? Promise.reject(isOlder())
      : noted(open().submitAll(commands.map((command) => ({ ...UNASKED, ...command })))),
    /** @param {string} key @param {{ fields?: readonly string[] }} [only] */
    stateOf: (key, only) => noted(open().stateOf(key, only)),
    /** @param {string} key @param {string} name */
    memberOf: (key, name) => noted(open().memberOf(key, name)),
    /** @param {string} id */
    mask: async (id) => (mask ??= maskWith((await agreed()).secret))(id),

    /** Why it decides nothing. */
    reasons: () => [...new Set([differs, failure])].flatMap((error) => error ? [reasonOf(error)] : []),
    /** What /readyz says besides reasons. */
    notes: () => opened?.notes() ?? [],

    close: async () => { await opened?.close() }
  }
}

/**
 * Keys of a stored system for queries: in memory, else from a node.
 * @param {{ connectionOf: (partition: number, isPrimary: boolean) => Connection, keyOf: (partition: number) => (part: string) => string,
 *   partitionOf: (key: string) => number, partitions: number, lookUp?: LookUp }} target
 * @param {{ unknown: string, memory?: Partial<Definition['memory']>, streams: Pick<Parameters<typeof createKeyView>[0], 'open'>,
 *   onEntry?: (entry: Entry) => void, log: Logger }} parts `unknown`: code of the error for a key that is not there; `streams` of nodes
 */
export function openReading (target, { unknown, memory, streams, onEntry, log }) {
  const view = createKeyView({ ...target, ...memory, ...streams, onEntry, log })
  const reading = createReading({ ...target, view, unknown })
  return {
    view,
    reading,
    get: async (/** @type {string} */ key) => view.storedOf(await reading.current(key)),
    events: reading.page,
    byRequest: reading.byRequest,
    members: reading.members,
    memberAtPrimary: reading.memberAtPrimary,
    waitFor: reading.waitFor,
    until: reading.until,
    find: view.get,
    peek: view.peek,
    fromPrimary: view.fromPrimary,
    watch: view.watch,
    storedOf: view.storedOf,
    since: reading.since,
    due: reading.due,
    names: reading.names
  }
}

/**
 * @typedef {object} Parts
 * @property {Servers} servers of the process
 * @property {Primaries} [routes] to the primaries, which several systems share; those with rules of a user have their own
 * @property {string} name of connections
 * @property {string} [durability] without it, what the primary has decided is confirmed
 * @property {KeepSecret} [keepSecret] as createAgreement
 * @property {boolean} [isCached] whether certain rejections are answered from memory
 * @property {(entry: Entry) => void} [onEntry] gets every event of the system
 * @property {Parameters<typeof createAdmission>[0]['metrics'] & Parameters<typeof createRejections>[0]['metrics'] &
 *   Parameters<typeof createPartitionClock>[0]['metrics']} metrics
 * @property {Logger} log
 */

/**
 * @param {Pick<Definition, 'name' | 'keepsUnread'> & { rules?: Record<string, any> }} definition
 * @param {any} settings of a process
 * @param {Parts} parts
 */
function openAdmission ({ name: system, rules = {}, keepsUnread: isRead }, settings, {
  servers, routes: shared, name, durability = 'memory', keepSecret, isCached = false, onEntry, metrics, log
}) {
  const { keyPrefix, systemPartitions: partitions, deadlineMs, requestMs, ackWithinMs: waitMs } = settings
  const ours = oursIn(rules)
  const connected = ours ? null : connect(rules, { servers, system, keyPrefix, name, deadlineMs, durability, log })
  const ruleSet = ours ?? /** @type {NonNullable<typeof connected>} */ (connected).ruleSet
  const routes = connected?.routes ?? shared ?? servers.primaries({ name, deadlineMs })
  const reads = connected?.reads ?? routes
  const agreement = createAgreement({
    router: routes.router, keyPrefix, system, partitions, rules: ruleSet.names, ruleSet, prepare: connected?.prepare, keepSecret
  })
  const { agreed, keyOf, partitionOf } = agreement
  const connectionOf = (/** @type {number} */ partition) => reads.route(keyOf(partition)('')).connection
  const clock = createPartitionClock({ system, durations: ruleSet.durations, keyOf, metrics, log })
  const target = {
    system,
    names: ruleSet.memory.names,
    servers,
    streams: servers.primaryStreams,
    routes,
    name,
    deadlineMs,
    partitions,
    keyOf,
    partitionOf,
    connectionOf,
    clock,
    log
  }
  const confirms = openConfirms({ ...target, name: `${name}:confirm`, durability, waitMs })
  const rejections = isCached || onEntry
    ? createRejections({
      ...servers.primaryStreams, ...target, agreed, requestMs, rules: ruleSet.memory, onEntry, metrics
    })
    : undefined
  const admission = createAdmission({
    ...settings,
    route: routes.route,
    agreement,
    isRead,
    ruleSet,
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

/**
 * The connections of a system with rules of a user. A rule that never ends keeps the replies of its connection back until it is stopped, so
 * calls may take longer, and reads and leases have a connection of their own.
 * @param {Record<string, OwnRule>} rules
 * @param {{ servers: import('../store/index.js').Servers, system: string, keyPrefix: string, name: string, deadlineMs: number,
 *   durability: string, log: import('pino').Logger }} parts `name` of connections
 */
export function connect (rules, { servers, system, keyPrefix, name, deadlineMs, durability, log }) {
  const routes = servers.primaries({ name, deadlineMs: Math.max(deadlineMs, REPLY_MS) })
  const reads = servers.primaries({ name: `${name}:reads`, deadlineMs })
  const ruleSet = createOwnRules({ keyPrefix, system, rules })
  const stopper = createStopper({ name: `${name}:stop`, owner: ruleSet.owner, primaries: () => routes.urls, log })
  /** A text that was refused once stays refused, and one that never ends keeps the server busy each time. @type {Error | null} */
  let refused = null

  return {
    ruleSet,
    routes,
    reads,

    /** @throws {FreshetError} RULE_FAILED, DURABILITY_UNSUPPORTED, and why the primary cannot be used */
    async prepare () {
      if (refused) throw refused
      // a busy server accepts no other connection
      await Promise.allSettled([stopper.look(), routes.opened, reads.opened])
      // the reason is that of the one that knows it sooner
      const [, { connection }] = [reads, routes].map((primaries) => primaries.route(systemKey(keyPrefix, system)))
      for (const primary of routes.connections) await expectDurability(primary, durability)
      await ruleSet.check(connection).catch((error) => {
        if (error.code === 'RULE_FAILED') refused = error
        throw error
      })
      await Promise.all(routes.connections.map(ruleSet.tidy)).catch(() => {})
    },

    close: () => Promise.all([routes.close(), reads.close(), stopper.close()])
  }
}
