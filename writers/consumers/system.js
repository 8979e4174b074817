/**
 * One system in a process of consumers: leases, scheduled tasks, and rows in the database.
 *
 *     partition taken -> tasks when they are due, or when an entry triggers them
 *                     -> entries of its outbox -> rows, another store, Kafka: each with a cursor of its own
 *                     -> another primary? -> what was lost is restored
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { followOutboxes, openConfirms } from '../../src/admission/index.js'
import {
  consume, consumeBatches, createEffects, createKafkaEffect, createOwnership, lagOf, LEASE_MS, TASKS
} from '../../src/consumers/index.js'
import { aborted } from '../../src/runtime/index.js'
import { runTasks, taskCommands } from '../../src/schedule/index.js'
import { keepSecret } from '../../src/sql/index.js'
import { closeInTime, durabilityOf, hasReplicas, joinHandlers, openDefinition, publishFigures } from '../../src/systems/inside.js'
import { eachSecond } from '../each-second.js'
import { untilUp } from './until-up.js'

const LOOK_EVERY_MS = 250
/** How a definition names its scheduled tasks as its driver. */
const OF_TASKS = 'tasks'

/** @typedef {Awaited<ReturnType<typeof openSystem>>} OpenSystem */
/** @typedef {import('../../src/systems/inside.js').Definition} Definition */
/** @typedef {Awaited<ReturnType<Definition['consumers']>>} Handlers */
/** @typedef {import('../../src/systems/inside.js').ConsumerParts} ConsumerParts */
/** @typedef {ReturnType<ReturnType<typeof openDefinition>['open']>['target']} Target */

/**
 * @param {Definition} definition @param {any} settings
 * @param {Pick<ConsumerParts, 'id' | 'database' | 'log' | 'signal' | 'fail'> & {
 *   servers: import('../../src/store/index.js').Servers, migrated: Promise<void>, leaseMs?: number,
 *   metrics: import('../../src/metrics/index.js').AdmissionMetrics & import('../../src/metrics/index.js').ConsumerMetrics,
 *   ownMetrics: any, onWait: (error: Error & { code?: string }) => void }} parts
 *   `migrated`: when the database can take rows; `ownMetrics` of the system; `onWait`: why it cannot be opened yet
 * @throws {import('../../src/errors.js').FreshetError} SYSTEM_DIFFERS, KAFKA_MISSING, and why the primary cannot be used
 */
export async function openSystem (definition, settings, parts) {
  const { id, servers, database, migrated, leaseMs = LEASE_MS, metrics, ownMetrics, log, signal, fail, onWait } = parts
  const { name: system, keepsSecret, logged } = definition
  const { systemPartitions: partitions, kafkaBrokers } = settings
  const kafka = kafkaBrokers?.length > 0 ? await createKafkaEffect({ brokers: kafkaBrokers, system, partitions }) : null
  // a process with an older rule ends, and gives its partitions back
  const opening = openDefinition(definition, settings, {
    servers,
    name: `${id}:${system}`,
    keepSecret: keepsSecret && database ? (secret) => keepSecret(database, system, secret) : undefined,
    onDiffers: fail,
    metrics,
    log
  })
  const admission = opening.open()
  const { target, target: { keyOf, connectionOf }, routes } = admission
  const { letters, deadLetter, open: openEffect } = createEffects({ ...target, metrics, logged, log })
  const { openConfirm, close: closeConfirms } = createConfirms(definition, settings, target)
  const stopKeeping = keepsSecret
    ? eachSecond(admission.refresh, ({ code, message }) =>
      log.warn({ system, code, reason: message }, 'the secret cannot be compared with the one that the database keeps'))
    : () => {}

  async function openHandlers () {
    await admission.agreed()
    return handlersOf(definition, {
      ...parts,
      ...admission,
      submit: opening.submit,
      connectionOf,
      metrics: ownMetrics,
      counters: metrics,
      owned: () => ownership.owned,
      settings,
      deadLetter,
      openConfirm
    })
  }

  await routes.opened.catch(() => {})
  const words = `${system} waits until it can be opened`
  const handlers = await untilUp(openHandlers, { signal, log, words, onWait }).catch(async (error) => {
    stopKeeping()
    await Promise.all([opening.close(), closeConfirms()])
    throw error
  })
  const { figures, joined } = handlers
  const rows = database ? Object.entries({ ...definition.rows, ...handlers.rows }).map(rowsOf) : []
  const effects = [
    ...rows.map((effect) =>
      openEffect(effect.name, (of) => writeRows(of, { system, effect, database, migrated }), { pauseMs: handlers.pauseMs })),
    ...[handlers.batches, kafka].flatMap((effect) =>
      effect ? [openEffect(effect.name, (of) => consumeBatches({ ...of, effect }))] : [])
  ]
  const published = figures && publishFigures({ connection: () => connectionOf(0), key: keyOf(0), id, figures })
  const leastToken = database ? (/** @type {number} */ partition) => tokenIn(database, system, partition) : undefined
  const driver = driverOf(definition, handlers, effects)
  const { work, close: closeWork } = createWork(handlers, { target, routes, effects, driver, leaseMs })
  const ownership = createOwnership({ ...target, id, work, driver, leastToken, leaseMs })
  const consumers = [...effects.map((effect) => effect.name), ...joined?.names ?? []]

  return {
    /** @type {import('../../src/metrics/index.js').ConsumerFigures} */
    figures: {
      owned: () => ownership.owned,
      lagMs: async () => Math.max(0, ...await Promise.all(ownership.owned.flatMap((partition) =>
        consumers.map((consumer) => lagOf(connectionOf(partition), keyOf(partition), consumer))))),
      deadLetters: () => letters.count(ownership.owned)
    },

    notes: opening.notes,

    async close () {
      published?.close()
      stopKeeping()
      const left = closeInTime(ownership.close(), `the consumers of ${system}`)
      await left.catch(() => {})
      await Promise.all([left, ...effects.map(({ close }) => close()), closeWork(), joined?.close(), handlers.close?.(), closeConfirms()])
        .finally(() => Promise.all([opening.close(), kafka?.close()]))
    }
  }
}

/**
 * What a system does in this process.
 * @param {Definition} definition @param {ConsumerParts} parts
 */
async function handlersOf (definition, parts) {
  const handlers = await definition.consumers(parts)
  const run = definition.hasLua ? undefined : taskCommands(parts.submit)
  try {
    return { run, ...handlers, joined: await joinHandlers(definition, handlers, parts) }
  } catch (error) {
    await handlers.close?.()
    throw error
  }
}

/**
 * @param {import('../../src/consumers/index.js').Target} of
 * @param {{ system: string, effect: import('../../src/consumers/index.js').SqlEffect, migrated: Promise<void>,
 *   database: import('../../src/sql/index.js').Database | null }} parts
 */
async function writeRows (of, { system, effect, database, migrated }) {
  const { signal } = of.owned
  await Promise.race([migrated, aborted(signal)])
  if (!signal.aborted && database) await consume({ ...of, system, effect, database })
}

/**
 * @param {[name: string, given: import('../../src/systems/index.js').Rows | import('../../src/systems/index.js').Rows['write']]} rows
 * @returns {import('../../src/consumers/index.js').SqlEffect}
 */
const rowsOf = ([name, given]) => /** @type {any} */ (typeof given === 'function' ? { name, write: given } : { ...given, name })

/**
 * What drives the system in this process, if it has it: without a database it has no rows.
 * @param {Definition} definition @param {Handlers} handlers @param {{ name: string }[]} effects
 */
function driverOf ({ driver }, { run }, effects) {
  if (driver === OF_TASKS) return run === undefined ? null : TASKS
  return effects.some(({ name }) => name === driver) ? driver ?? null : null
}

/**
 * What is done for a partition while this process owns it.
 * @param {Handlers} handlers
 * @param {{ target: Target, routes: import('../../src/store/index.js').Primaries, leaseMs: number,
 *   effects: { name: string, run: import('../../src/consumers/index.js').Work }[], driver: string | null }} parts `driver` of the system
 */
function createWork ({ triggers, run, onPrimary }, { target, target: { keyOf, log }, routes, effects, driver, leaseMs }) {
  /** of owned partitions: their tasks are looked at again at once @type {Map<number, () => void>} */
  const wakers = new Map()
  const waking = triggers && followOutboxes({
    ...target.streams,
    ...target,
    isOnDemand: true,
    onEntry: (partition, entry) => { if (triggers(entry)) wakers.get(partition)?.() },
    onReset: (partition) => wakers.get(partition)?.()
  })

  return {
    /** @type {import('../../src/consumers/index.js').Work} */
    async work (given) {
      const { partition } = given
      const failing = new AbortController()
      const owned = { ...given, signal: AbortSignal.any([given.signal, failing.signal]) }
      const of = (/** @type {string} */ part) => part === driver ? owned : { ...owned, drives: undefined }
      const running = [aborted(owned.signal), ...effects.map((effect) => effect.run(of(effect.name)))]
      if (run) {
        let leave = () => {}
        const begin = (/** @type {() => void} */ wake) => {
          wakers.set(partition, wake)
          leave = waking?.follow(partition) ?? leave
        }
        running.push(runTasks(target, of(TASKS), run, begin).finally(() => {
          wakers.delete(partition)
          leave()
        }))
      }
      if (onPrimary) {
        const idOf = () => routes.route(keyOf(partition)('')).replicationId
        running.push(onEachPrimary(owned, { idOf, run: onPrimary, log }))
      }
      await endTogether(running, failing, leaseMs)
    },

    close: async () => { await waking?.close() }
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
 * Confirms of what consumers decide, as gateways do it; opened for the systems that want them.
 * @param {Definition} definition @param {any} settings @param {Target} target
 */
function createConfirms (definition, { durability, ackWithinMs: waitMs }, target) {
  /** @type {ReturnType<typeof openConfirms> | null} */
  let confirms = null
  return {
    /** @type {ConsumerParts['openConfirm']} */
    async openConfirm () {
      const wanted = durabilityOf(definition, durability, await hasReplicas(target.connectionOf(0)))
      const { of } = confirms ??= openConfirms({ ...target, name: `${target.name}:confirm`, durability: wanted, waitMs })
      return (partition) => of(partition)()
    },

    close: async () => confirms?.close()
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
