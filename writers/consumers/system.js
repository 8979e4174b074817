/**
 * One system in a process of consumers: its scheduled tasks, rows in the database and effects elsewhere, in the frame of src/systems.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openConfirms } from '../../src/admission/index.js'
import { consume, consumeBatches, createKafkaEffect, createTogether, entryLost, lagOf, TASKS } from '../../src/consumers/index.js'
import { aborted } from '../../src/runtime/index.js'
import { taskCommands } from '../../src/schedule/index.js'
import { keepSecret } from '../../src/sql/index.js'
import {
  createFrame, durabilityOf, hasReplicas, importModule, joinHandlers, OF_TASKS, openDefinition, publishFigures
} from '../../src/systems/inside.js'
import { eachSecond } from '../../src/ticks.js'

/** Consumers wait for what does not answer when they start, as gateways and readers do. */

const AGAIN_MS = 1000

/**
 * @template T
 * @param {() => Promise<T>} run
 * @param {{ signal: AbortSignal, log: import('pino').Logger, words: string, onWait?: (error: Error & { code?: string }) => void }} parts
 *   `words`: logged with the reason of the first failure; `onWait`: after each
 * @returns {Promise<T>} once it succeeds @throws what is not retryable or needs other settings, or the reason of the signal
 */
export async function untilUp (run, { signal, log, words, onWait = () => {} }) {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      return await run()
    } catch (error) {
      if (!error.retryable || error.exitStatus === 2) throw error
      if (attempt === 1) log.warn({ code: error.code, reason: error.message }, words)
      onWait(error)
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
  }
}

/** @typedef {Awaited<ReturnType<typeof openSystem>>} OpenSystem */
/** @typedef {import('../../src/systems/inside.js').Definition} Definition */
/** @typedef {Awaited<ReturnType<Definition['consumers']>>} Handlers */
/** @typedef {import('../../src/systems/inside.js').ConsumerParts} ConsumerParts */
/** @typedef {ReturnType<ReturnType<typeof openDefinition>['open']>['target']} Target */

/**
 * @param {Definition} definition @param {any} settings
 * @param {Pick<ConsumerParts, 'id' | 'database' | 'embedded' | 'log' | 'signal' | 'fail'> & {
 *   servers: import('../../src/store/index.js').Servers, migrated: Promise<void>, leaseMs?: number,
 *   metrics: import('../../src/metrics/index.js').AdmissionMetrics & import('../../src/metrics/index.js').ConsumerMetrics,
 *   ownMetrics: any, onWait: (error: Error & { code?: string }) => void }} parts
 *   `migrated`: when the database can take rows; `ownMetrics` of the system; `onWait`: why it cannot be opened yet
 * @throws {import('../../src/errors.js').FreshetError} SYSTEM_DIFFERS, KAFKA_MISSING, and why the primary cannot be used
 */
export async function openSystem (definition, settings, parts) {
  const { id, servers, database, migrated, leaseMs, metrics, ownMetrics, log, signal, fail, onWait } = parts
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
  const { target, target: { keyOf, connectionOf, routes } } = admission
  const frame = createFrame(target, { id, metrics, logged, leaseMs })
  const { letters, deadLetter } = frame
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
      submitAll: opening.submitAll,
      connectionOf,
      metrics: ownMetrics,
      counters: metrics,
      owned: () => worker.owned,
      decideTask: taskCommands(opening.submit),
      entryLost,
      importModule,
      settings,
      deadLetter,
      openConfirm
    }, frame)
  }

  await routes.opened.catch(() => {})
  const words = `${system} waits until it can be opened`
  const handlers = await untilUp(openHandlers, { signal, log, words, onWait }).catch(async (error) => {
    stopKeeping()
    await frame.close()
    await Promise.all([opening.close(), closeConfirms()])
    throw error
  })
  const { figures, joined } = handlers
  const rows = database ? Object.entries({ ...definition.rows, ...handlers.rows }).map(rowsOf) : []
  const effects = [
    ...rows.map((effect) => openRows(frame, effect, { system, database, migrated, everyMs: handlers.rowsEveryMs })),
    ...[handlers.batches, kafka].flatMap((effect) =>
      effect ? [frame.effect(effect.name, (of) => consumeBatches({ ...of, effect }))] : [])
  ]
  const published = figures && publishFigures({ connection: () => connectionOf(0), key: keyOf(0), id, figures })
  const leastToken = database ? (/** @type {number} */ partition) => tokenIn(database, system, partition) : undefined
  const driver = driverOf(definition, handlers, effects)
  const { run, triggers, onPrimary } = handlers
  const worker = frame.join({ what: `the consumers of ${system}`, effects, run, triggers, onPrimary, driver, leastToken })
  const consumers = [...effects.map((effect) => effect.name), ...joined]

  return {
    /** @type {import('../../src/metrics/index.js').ConsumerFigures} */
    figures: {
      owned: () => worker.owned,
      lagMs: async () => Math.max(0, ...await Promise.all(worker.owned.flatMap((partition) =>
        consumers.map((consumer) => lagOf(connectionOf(partition), keyOf(partition), consumer))))),
      deadLetters: () => letters.count(worker.owned)
    },

    notes: opening.notes,

    async close () {
      published?.close()
      stopKeeping()
      const left = frame.close()
      await left.catch(() => {})
      await Promise.all([left, handlers.close?.(), closeConfirms()])
        .finally(() => Promise.all([opening.close(), kafka?.close()]))
    }
  }
}

/**
 * What a system does in this process.
 * @param {Definition} definition @param {ConsumerParts} parts @param {ReturnType<typeof createFrame>} frame
 */
async function handlersOf (definition, parts, frame) {
  const handlers = await definition.consumers(parts)
  const { run = (task) => parts.decideTask(task) } = handlers
  /** @type {Parameters<typeof frame.join>[0]['run']} */
  const runTask = (task, _signal, entry) => run(task, entry)
  try {
    const joined = await joinHandlers(definition, handlers, parts, frame)
    // tasks of rules with Lua have owners of their own, as in the library
    return { ...handlers, ...definition.hasLua ? { run: undefined, triggers: undefined } : { run: /** @type {any} */ (runTask) }, joined }
  } catch (error) {
    await handlers.close?.()
    throw error
  }
}

/**
 * @param {ReturnType<typeof createFrame>} frame @param {import('../../src/consumers/index.js').SqlEffect} effect
 * @param {{ system: string, migrated: Promise<void>, everyMs?: number, database: import('../../src/sql/index.js').Database | null }} parts
 */
function openRows (frame, effect, { system, database, migrated, everyMs }) {
  const { writeAll } = effect
  const together = database && writeAll ? createTogether({ system, effect: { ...effect, writeAll }, database }) : undefined
  return frame.effect(effect.name, async (of) => {
    const { signal } = of.owned
    await Promise.race([migrated, aborted(signal)])
    if (!signal.aborted && database) await consume({ ...of, system, effect, database, together })
  }, { everyMs })
}

/**
 * @param {[name: string, rows: import('../../src/systems/index.js').Rows | import('../../src/systems/index.js').Rows['write']]} rows
 * @returns {import('../../src/consumers/index.js').SqlEffect}
 */
const rowsOf = ([name, rows]) => /** @type {any} */ (typeof rows === 'function' ? { name, write: rows } : { ...rows, name })

/**
 * What drives the system in this process, if it has it: without a database it has no rows.
 * @param {Definition} definition @param {Handlers} handlers @param {{ name: string }[]} effects
 */
function driverOf ({ driver }, { run }, effects) {
  if (driver === OF_TASKS) return run === undefined ? null : TASKS
  return effects.some(({ name }) => name === driver) ? driver ?? null : null
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
      const systemDurability = durabilityOf(definition, durability, await hasReplicas(target.connectionOf(0)))
      const { of } = confirms ??= openConfirms({ ...target, name: `${target.name}:confirm`, durability: systemDurability, waitMs })
      return (partition, generation, entry) => of(partition)(generation, entry)
    },

    close: async () => confirms?.close()
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
