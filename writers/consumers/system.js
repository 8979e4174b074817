/**
 * One system in a process of consumers: leases, scheduled tasks, and rows in the database.
 *
 *     partition taken -> tasks when they are due, or when an entry wakes them
 *                     -> entries of its outbox -> rows, another store, Kafka: each with a cursor of its own
 *                     -> another primary? -> what was lost is restored
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { admissionKey, createAdmission } from '../../src/admission/index.js'
import {
  consume, consumeBatches, createDeadLetters, createKafkaEffect, createOutboxReader, createOwnership, lagOf
} from '../../src/consumers/index.js'
import { aborted } from '../../src/runtime/index.js'
import { runTasks } from '../../src/schedule/index.js'
import { keepSecret } from '../../src/sql/index.js'
import { createRoutes } from '../../src/store/index.js'
import { sagaIdOf, SYSTEM as ORDERS } from '../../src/systems/orders/index.js'
import { untilUp } from './until-up.js'
import { followWakes } from './wakes.js'

const LOOK_EVERY_MS = 250
/** attempts, which follow one another after up to 5 s */
const LOG_EVERY = 10

/** @typedef {Awaited<ReturnType<typeof openSystem>>} OpenSystem */
/** @typedef {Parameters<import('../../src/consumers/index.js').DeadLetters['bury']>[1] & { correlationId?: string }} Letter */

/**
 * @param {string} system @param {any} settings
 * @param {{ id: string, primaryUrl: string, database: import('../../src/sql/index.js').Database | null,
 *   migrated: Promise<void>,
 *   dutiesOf: typeof import('./systems.js').DUTIES, leaseMs?: number,
 *   metrics: import('../../src/metrics/index.js').AdmissionMetrics & import('../../src/metrics/index.js').ConsumerMetrics,
 *   ownMetrics: import('./systems.js').OwnMetrics, log: import('pino').Logger, signal: AbortSignal,
 *   fail: (error: Error) => void, onWait: (error: Error & { code?: string }) => void }} parts `id`: of this process; `database`: null = no
 *   rows are written; `migrated`: when it can take them; `dutiesOf` each system; `onWait`: why it cannot be opened yet
 * @throws {import('../../src/errors.js').FreshetError} SYSTEM_DIFFERS, KAFKA_MISSING, and why the primary cannot be used
 */
export async function openSystem (system, settings, parts) {
  const { id, primaryUrl, database, migrated, dutiesOf, leaseMs, metrics, log, signal, onWait } = parts
  const { keyPrefix, deadlineMs, systemPartitions: partitions, kafkaBrokers } = settings
  const kafka = kafkaBrokers?.length > 0 ? await createKafkaEffect({ brokers: kafkaBrokers, system, partitions }) : null
  const routes = createRoutes({ primaryUrl, name: `${id}:${system}`, deadlineMs })
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, system, partition)
  const connectionOf = (/** @type {number} */ partition) => routes.route(partition).connection
  const admission = openAdmission(system, settings, { route: routes.route, database, metrics })
  const letters = createDeadLetters({ connectionOf, keyOf, partitions })
  const { bury, noteFailure } = createNotes({ system, letters, metrics, log })
  await routes.opened.catch(() => {})
  const words = `${system} waits until it can be opened`
  const duties = await untilUp(openDuties, { signal, log, words, onWait }).catch(async (error) => {
    await routes.close()
    throw error
  })
  const rows = database && duties.rows
  /** @typedef {Omit<Parameters<typeof consumeBatches>[0], 'effect'>} Place */
  const effects = [
    ...rows ? [openEffect(rows.name, (place) => writeRows(place, database, rows), duties.pauseMs)] : [],
    ...[rows ? null : duties.batches, kafka].flatMap((effect) =>
      effect ? [openEffect(effect.name, (place) => consumeBatches({ ...place, effect }))] : [])
  ]

  /**
   * An effect reads the outboxes at its own pace.
   * @param {string} name @param {(place: Place) => Promise<void>} run @param {number} [pauseMs]
   */
  function openEffect (name, run, pauseMs) {
    const outbox = createRoutes({ primaryUrl, name: `${id}:${system}:outbox:${name}`, deadlineMs })
    const reader = createOutboxReader({ connection: () => outbox.route(0).connection, keyOf, pauseMs, log })
    return { name, run, reader, close: () => reader.close().then(outbox.close) }
  }

  async function openDuties () {
    routes.route(0)
    await admission.agreed()
    return dutiesOf[system]({ ...parts, settings, admission, connectionOf, bury, owned: () => ownership.owned })
  }
  /** by partition @type {Map<number, () => void>} */
  const wakers = new Map()
  const waking = duties.wakes
    ? followWakes({ primaryUrl, name: `${id}:${system}:wakes`, deadlineMs, keyOf, partitions, wakes: duties.wakes, wakers, log })
    : null

  /** @param {import('../../src/consumers/index.js').Owned} owned */
  async function work (owned) {
    const { partition, signal } = owned
    const connection = () => connectionOf(partition)
    const key = keyOf(partition)
    const running = [
      runTasks({ connection, key, run: duties.run, signal, onWake: (wake) => wakers.set(partition, wake) })
        .finally(() => wakers.delete(partition))
    ]
    const place = {
      owned,
      connection,
      key,
      metrics: { ...metrics, failed: noteFailure.bind(null, partition) },
      bury: bury.bind(null, partition)
    }
    for (const { run, reader } of effects) running.push(run({ ...place, reader }))
    if (duties.onPrimary) {
      running.push(onEachPrimary(owned, { idOf: () => routes.route(partition).replicationId, run: duties.onPrimary, log }))
    }
    await Promise.all(running)
  }

  /**
   * @param {Place} place
   * @param {import('../../src/sql/index.js').Database} database @param {import('../../src/consumers/index.js').SqlEffect} effect
   */
  async function writeRows (place, database, effect) {
    await Promise.race([migrated, aborted(place.owned.signal)])
    if (!place.owned.signal.aborted) await consume({ ...place, system, effect, database })
  }

  const leastToken = database ? (/** @type {number} */ partition) => tokenIn(database, system, partition) : undefined
  const ownership = createOwnership({ id, partitions, connectionOf, keyOf, log, work, leastToken, leaseMs })

  return {
    figures: {
      owned: () => ownership.owned,
      lagMs: async () => Math.max(0, ...await Promise.all(ownership.owned.flatMap((partition) =>
        effects.map(({ name }) => lagOf(connectionOf(partition), keyOf(partition), name))))),
      deadLetters: async () => (await Promise.all(ownership.owned.map(letters.count))).reduce((sum, n) => sum + n, 0)
    },

    async close () {
      await ownership.close()
      await Promise.all([...effects.map((effect) => effect.close()), waking?.close(), duties.close?.()])
      await Promise.all([routes.close(), kafka?.close()])
    }
  }
}

/**
 * @param {string} system @param {any} settings
 * @param {Pick<Parameters<typeof createAdmission>[0], 'route' | 'metrics'> & Pick<Parameters<typeof openSystem>[2], 'database'>} parts
 */
function openAdmission (system, settings, { database, ...parts }) {
  const { keyPrefix, deadlineMs, requestMs, keepMs, systemPartitions: partitions, batches } = settings
  const isOfOrders = system === ORDERS
  const keeping = isOfOrders && database
    ? { keepSecret: (/** @type {string} */ secret) => keepSecret(database, system, secret) }
    : {}
  const options = { keyPrefix, system, partitions, requestMs, keepMs, deadlineMs, batches: batches !== 'no' }
  return createAdmission({ ...options, isRead: isOfOrders, ...keeping, ...parts })
}

/**
 * What fails, and what fails for good.
 * @param {{ system: string, letters: import('../../src/consumers/index.js').DeadLetters,
 *   metrics: Pick<import('../../src/metrics/index.js').ConsumerMetrics, 'buried' | 'failed'>, log: import('pino').Logger }} parts
 */
const createNotes = ({ system, letters, metrics, log }) => ({
  /** @param {number} partition @param {Letter} letter */
  bury (partition, letter) {
    metrics.buried()
    const { consumer, entry: { id, key }, reason, correlationId } = letter
    const sagaId = system === ORDERS ? sagaIdOf(key) : undefined
    log.error({ system, consumer, key, sagaId, correlationId, entry: id, reason }, 'dead letter')
    return letters.bury(partition, letter)
  },

  /** @param {number} partition @param {Error & { code?: string }} error @param {number} attempt */
  noteFailure (partition, { code, message }, attempt) {
    metrics.failed()
    if (attempt % LOG_EVERY === 1) log.warn({ system, partition, attempt, code, reason: message }, 'entries are tried again')
  }
})

/**
 * Runs something when a partition is taken, and again whenever its primary is another one.
 * @param {import('../../src/consumers/index.js').Owned} owned
 * @param {{ idOf: () => string, run: (partition: number) => Promise<void>, log: import('pino').Logger }} parts `idOf` the primary
 */
async function onEachPrimary ({ partition, signal }, { idOf, run, log }) {
  for (let known = ''; !signal.aborted; await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})) {
    try {
      const id = idOf()
      if (id === known) continue
      await run(partition)
      known = id
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
