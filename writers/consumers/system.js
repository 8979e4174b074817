/**
 * One system in a process of consumers: leases, scheduled tasks, and rows in the database.
 *
 *     partition taken -> tasks when they are due, or when an entry triggers them
 *                     -> entries of its outbox -> rows, another store, Kafka: each with a cursor of its own
 *                     -> another primary? -> what was lost is restored
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createAdmission, followOutboxes, openConfirms } from '../../src/admission/index.js'
import {
  consume, consumeBatches, createDeadLetters, createEffects, createKafkaEffect, createOwnership, lagOf, LEASE_MS
} from '../../src/consumers/index.js'
import { aborted } from '../../src/runtime/index.js'
import { runTasks } from '../../src/schedule/index.js'
import { keepSecret } from '../../src/sql/index.js'
import { createRoutes, openerOf } from '../../src/store/index.js'
import { publishFigures } from '../../src/systems/inside.js'
import { eachSecond } from '../each-second.js'
import { admissionSettings, durabilityOf, hasReplicas } from '../system-settings.js'
import { untilUp } from './until-up.js'

const LOOK_EVERY_MS = 250

/** @typedef {Awaited<ReturnType<typeof openSystem>>} OpenSystem */
/** @typedef {import('../../src/systems/inside.js').System} System */
/** @typedef {import('../../src/systems/inside.js').ConsumerParts} ConsumerParts */

/**
 * @param {System} definition @param {any} settings
 * @param {Pick<ConsumerParts, 'id' | 'database' | 'log' | 'signal' | 'fail'> & { primaryUrl: string, migrated: Promise<void>,
 *   leaseMs?: number, metrics: import('../../src/metrics/index.js').AdmissionMetrics &
 *   import('../../src/metrics/index.js').ConsumerMetrics, ownMetrics: any, onWait: (error: Error & { code?: string }) => void }} parts
 *   `migrated`: when the database can take rows; `ownMetrics` of the system; `onWait`: why it cannot be opened yet
 * @throws {import('../../src/errors.js').FreshetError} SYSTEM_DIFFERS, KAFKA_MISSING, and why the primary cannot be used
 */
export async function openSystem (definition, settings, parts) {
  const { id, primaryUrl, database, migrated, leaseMs, metrics, ownMetrics, log, signal, onWait } = parts
  const { name: system } = definition
  const { deadlineMs, systemPartitions: partitions, kafkaBrokers } = settings
  const kafka = kafkaBrokers?.length > 0 ? await createKafkaEffect({ brokers: kafkaBrokers, system, partitions }) : null
  const routes = createRoutes({ primaryUrl, name: `${id}:${system}`, deadlineMs })
  const admission = openAdmission(definition, settings, { route: routes.route, database, metrics, fail: parts.fail })
  const { keyOf } = admission
  const connectionOf = (/** @type {number} */ partition) => routes.route(keyOf(partition)('')).connection
  const letters = createDeadLetters({ connectionOf, keyOf, partitions })
  const { deadLetter, open: openEffect } = createEffects({
    system, name: `${id}:${system}`, primaryUrl, deadlineMs, keyOf, connectionOf, letters, metrics, logged: definition.logged, log
  })
  await routes.opened.catch(() => {})
  const words = `${system} waits until it can be opened`
  const { openConfirm, close: closeOwn } = openOwn(definition, settings, { ...parts, admission, connectionOf })
  const handlers = await untilUp(openHandlers, { signal, log, words, onWait }).catch(async (error) => {
    await Promise.all([routes.close(), closeOwn()])
    throw error
  })
  const rows = database && handlers.rows
  const effects = [
    ...rows ? [openEffect(rows.name, (target) => writeRows(target, database, rows), { pauseMs: handlers.pauseMs })] : [],
    ...[rows ? null : handlers.batches, kafka].flatMap((effect) =>
      effect ? [openEffect(effect.name, (target) => consumeBatches({ ...target, effect }))] : [])
  ]

  async function openHandlers () {
    await admission.agreed()
    const of = { admission, connectionOf, metrics: ownMetrics, counters: metrics, owned: () => ownership.owned }
    return definition.consumers({ ...parts, ...of, settings, deadLetter, openConfirm })
  }

  /** of owned partitions: their tasks are looked at again at once @type {Map<number, () => void>} */
  const wakers = new Map()
  const { triggers, figures, effects: own = [] } = handlers
  const published = figures && publishFigures({ connection: () => connectionOf(0), key: keyOf(0), id, figures })
  const waking = triggers
    ? followOutboxes({
      ...openerOf(primaryUrl, { name: `${id}:${system}:triggers`, deadlineMs }),
      keyOf,
      partitions,
      isFollowed: (partition) => wakers.has(partition),
      onEntry: (partition, entry) => { if (triggers(entry)) wakers.get(partition)?.() },
      onReset: (partition) => wakers.get(partition)?.(),
      log
    })
    : null

  /** @param {import('../../src/consumers/index.js').Owned} given */
  async function work (given) {
    const { partition } = given
    const failing = new AbortController()
    const signal = AbortSignal.any([given.signal, failing.signal])
    const owned = { ...given, signal }
    const connection = () => connectionOf(partition)
    const key = keyOf(partition)
    const running = [aborted(signal)]
    if (handlers.run) {
      running.push(runTasks({ connection, key, run: handlers.run, signal, onWake: (wake) => wakers.set(partition, wake) })
        .finally(() => wakers.delete(partition)))
    }
    for (const { run } of effects) running.push(run(owned))
    if (handlers.onPrimary) {
      running.push(onEachPrimary(owned, { idOf: () => routes.route(key('')).replicationId, run: handlers.onPrimary, log }))
    }
    await endTogether(running, failing, leaseMs ?? LEASE_MS)
  }

  /**
   * @param {import('../../src/consumers/index.js').Target} target
   * @param {import('../../src/sql/index.js').Database} database @param {import('../../src/consumers/index.js').SqlEffect} effect
   */
  async function writeRows (target, database, effect) {
    const { signal } = target.owned
    await Promise.race([migrated, aborted(signal)])
    if (!signal.aborted) await consume({ ...target, system, effect, database })
  }

  const leastToken = database ? (/** @type {number} */ partition) => tokenIn(database, system, partition) : undefined
  const ownership = createOwnership({ id, partitions, connectionOf, keyOf, log, work, leastToken, leaseMs })

  return {
    figures: figuresOf({ ownership, effects: [...effects.map(({ name }) => name), ...own], letters, connectionOf, keyOf }),

    async close () {
      published?.close()
      await ownership.close()
      await Promise.all([...effects.map(({ close }) => close()), waking?.close(), handlers.close?.(), closeOwn()])
      await Promise.all([routes.close(), kafka?.close()])
    }
  }
}

/**
 * When a part of the work fails, the others are stopped. The partition is given back when all have ended, at the latest after `withinMs`:
 * effects are idempotent, and the fencing token refuses what comes later.
 * @param {Promise<void>[]} parts @param {AbortController} failing @param {number} withinMs @throws the first error
 */
export async function endTogether (parts, failing, withinMs) {
  // what is stopped rejects with the reason, so the first error is the one that is thrown
  for (const part of parts) part.catch((error) => failing.abort(error))
  await Promise.race([Promise.allSettled(parts), aborted(failing.signal).then(() => sleep(withinMs, undefined, { ref: false }))])
  failing.signal.throwIfAborted()
}

/**
 * @param {System} definition @param {any} settings
 * @param {Pick<Parameters<typeof createAdmission>[0], 'route' | 'metrics'> & Pick<ConsumerParts, 'database' | 'fail'>} parts
 */
function openAdmission ({ name: system, rules, keepsSecret, keepsUnread: isRead }, settings, { database, fail, ...parts }) {
  const keeping = keepsSecret && database
    ? { keepSecret: (/** @type {string} */ secret) => keepSecret(database, system, secret) }
    : {}
  const admission = createAdmission({ ...admissionSettings(settings), system, rules, isRead, ...keeping, ...parts })
  return {
    ...admission,
    /** A process with an older rule ends, and gives its partitions back. @type {typeof admission.submit} */
    submit: (command) => admission.submit(command).catch((error) => {
      if (error.code === 'RULE_DIFFERS') fail(error)
      throw error
    })
  }
}

/**
 * @param {{ ownership: { owned: number[] }, effects: string[], letters: import('../../src/consumers/index.js').DeadLetters,
 *   keyOf: (partition: number) => (part: string) => string } & Pick<ConsumerParts, 'connectionOf'>} parts `effects`: their names
 * @returns {import('../../src/metrics/index.js').ConsumerFigures}
 */
const figuresOf = ({ ownership, effects, letters, connectionOf, keyOf }) => ({
  owned: () => ownership.owned,
  lagMs: async () => Math.max(0, ...await Promise.all(ownership.owned.flatMap((partition) =>
    effects.map((name) => lagOf(connectionOf(partition), keyOf(partition), name))))),
  deadLetters: () => letters.count(ownership.owned)
})

/**
 * What some systems need besides: confirms of what they decide, and a secret that outlives the servers.
 * @param {System} definition @param {any} settings
 * @param {Pick<ConsumerParts, 'id' | 'admission' | 'connectionOf' | 'log'> & { primaryUrl: string }} parts
 */
function openOwn (definition, { durability, deadlineMs, ackWithinMs: waitMs }, { id, admission, connectionOf, primaryUrl, log }) {
  const { name: system, keepsSecret } = definition
  const { keyOf, partitions, refresh } = admission
  const stopKeeping = keepsSecret
    ? eachSecond(refresh, ({ code, message }) =>
      log.warn({ system, code, reason: message }, 'the secret cannot be compared with the one that the database keeps'))
    : () => {}
  /** @type {ReturnType<typeof openConfirms>} */
  let confirms = null
  return {
    /** Confirms of each partition, as gateways do it. @type {ConsumerParts['openConfirm']} */
    async openConfirm () {
      const wanted = durabilityOf(definition, durability, await hasReplicas(connectionOf(0)))
      const opened = confirms ??= openConfirms({
        primaryUrl, name: `${id}:${system}:confirm`, keyOf, durability: wanted, deadlineMs, waitMs
      })
      if (!opened) return async () => {}
      const all = Array.from({ length: partitions }, (_, partition) => opened.of(partition))
      return (partition) => all[partition]()
    },

    async close () {
      stopKeeping()
      await confirms?.close()
    }
  }
}

/**
 * Runs something when a partition is taken, and again whenever its primary is another one.
 * @param {import('../../src/consumers/index.js').Owned} owned
 * @param {{ idOf: () => string, run: (partition: number) => Promise<void>, log: import('pino').Logger }} parts `idOf` the primary
 */
async function onEachPrimary ({ partition, signal }, { idOf, run, log }) {
  for (let lastId = ''; !signal.aborted; await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})) {
    try {
      const id = idOf()
      if (id === lastId) continue
      await run(partition)
      lastId = id
    } catch (error) {
      log.debug({ partition, code: error.code, reason: error.message }, 'restoring is tried again')
    }
  }
}

/**
 * The fencing token that the database knows; 0 while it does not answer.
 * @param {import('../../src/sql/index.js').Database} database @param {string} system @param {number} partition
 */
async function tokenIn (database, system, partition) {
  const { rows: [row] } = await database.query('SELECT max(token) AS token FROM consumer_cursor WHERE system = $1 AND partition = $2',
    [system, partition]).catch(() => ({ rows: [] }))
  return Number(row?.token ?? 0)
}
