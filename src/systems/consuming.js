/**
 * Consumers of a system of a user, and its scheduled tasks. Each consumer, and the tasks, have owners of their own, because not every
 * process has each consumer.
 *
 *     consume('receipts', handler) ─▶ lease of a partition ─▶ its outbox from the cursor of `receipts` ─▶ handler ─▶ cursor
 *
 * A handler may outlast its lease. Then another process hands the same entries over under a higher token, which every effect must check; in
 * this process the partition waits until the handler has ended.
 */
import { eventOf } from '../admission/index.js'
import { createDeadLetters, createEffects, createOwnership, followPartition } from '../consumers/index.js'
import { NAME, NAMED } from './checked-definition.js'
import { invalid } from './command-arguments.js'
import { createTasks } from './own-tasks.js'

/** at an entry that is taken alone */
const ATTEMPTS = 3
const MAX_ATTEMPTS = 1000
const TASKS = '@tasks'
/** @typedef {{ finished: (entries: number) => void, failed: () => void, deadLettered: () => void }} ConsumerMetrics of a process */

/** handlers of this process, by consumer and partition, also of a system that was opened twice @type {Map<string, Promise<unknown>>} */
const running = new Map()

/**
 * @param {{ id: string, name: string, system: string, primaryUrl: string, partitions: number, deadlineMs: number,
 *   keyOf: (partition: number) => (part: string) => string,
 *   connectionOf: (partition: number) => import('../store/index.js').Connection, account: { deadLetters: number },
 *   metrics: ConsumerMetrics, submit: (command: import('../admission/index.js').Command) => Promise<unknown>, rules: object, log: any }}
 *   parts `id`: of this process; `name`: of connections; `rules` that it has, by name
 */
export function createConsumers (parts) {
  const { id, partitions, keyOf, connectionOf, account, metrics, log } = parts
  const effects = createEffects({
    ...parts,
    letters: createDeadLetters({ connectionOf, keyOf, partitions }),
    metrics: {
      ...metrics,
      deadLettered () {
        account.deadLetters++
        metrics.deadLettered()
      }
    }
  })
  /** @type {Set<{ close: () => Promise<void> }>} */
  const open = new Set()

  /** Owners of each consumer have keys of their own. @param {string} consumer */
  const keysOf = (consumer) => (/** @type {number} */ partition) => (/** @type {string} */ part) =>
    keyOf(partition)(['owner', 'consumers', 'handler'].includes(part) ? `${part}:${consumer}` : part)

  /** @param {string} consumer @param {import('../consumers/index.js').Work} work */
  async function join (consumer, work) {
    const ownership = createOwnership({ id, partitions, connectionOf, keyOf: keysOf(consumer), work, log })
    open.add(ownership)
    await ownership.joined
    return ownership
  }

  /** @param {string} consumer @param {import('./face.js').Handler} handler @param {number} attempts */
  async function start (consumer, handler, attempts) {
    const effect = effects.open(consumer, (target) => followPartition(consumer, target, {
      attempts,
      isAwaited: true,
      write: (entries, begin) => handOver(target.key('handler'), entries, { begin, handler, owned: target.owned })
    }), { keysOf: keysOf(consumer) })
    for (let partition = 0; partition < partitions; partition++) {
      await connectionOf(partition).runScript('register-consumer', ['cursors', 'generation'].map(keyOf(partition)), [consumer])
    }
    const ownership = await join(consumer, effect.run)
    open.delete(ownership)
    const worker = {
      async close () {
        await ownership.close()
        await effect.close()
        open.delete(worker)
      }
    }
    open.add(worker)
    return worker
  }

  const tasks = createTasks({ ...parts, join: (work) => join(TASKS, work) })

  return {
    /** @param {string} consumer @param {import('./face.js').Handler} handler @param {{ attempts?: number }} [options] */
    async consume (consumer, handler, { attempts = ATTEMPTS, ...rest } = {}) {
      expectArguments(consumer, handler, attempts, rest)
      return start(consumer, handler, attempts)
    },

    runTasks: tasks.run,

    close: async () => { await Promise.all([...open].map((one) => one.close())) }
  }
}

/**
 * Callers may have no types.
 * @param {unknown} consumer @param {unknown} handler @param {number} attempts @param {object} rest @throws {FreshetError} ARGUMENT_INVALID
 */
function expectArguments (consumer, handler, attempts, rest) {
  const [unknown] = Object.keys(rest)
  if (typeof consumer !== 'string' || !NAME.test(consumer)) throw invalid(`consumer ${String(consumer)}; expected ${NAMED}`)
  if (typeof handler !== 'function') throw invalid(`handler: a value of type ${typeof handler}; expected a function`)
  if (unknown !== undefined) throw invalid(`${unknown} is unknown; the options of consume are attempts`)
  if (!(Number.isInteger(attempts) && attempts >= 1 && attempts <= MAX_ATTEMPTS)) {
    throw invalid(`attempts ${attempts}; expected 1 to ${MAX_ATTEMPTS}`)
  }
}

/**
 * @param {string} name of the handler in this process @param {import('../admission/index.js').Entry[]} entries
 * @param {{ begin: () => Promise<void>, handler: import('./face.js').Handler, owned: import('../consumers/index.js').Owned }} parts
 */
async function handOver (name, entries, { begin, handler, owned }) {
  // an entry without a sequence number is for readers
  const given = entries.filter(({ seq }) => seq > 0).map(({ id, rule, key, fields }) => ({ id, rule, key, ...eventOf(fields) }))
  if (given.length === 0) return
  while (running.has(name)) await running.get(name)?.catch(() => {})
  owned.signal.throwIfAborted()
  await begin()
  const handling = Promise.resolve().then(() => handler(given, owned))
  running.set(name, handling)
  await handling.finally(() => running.delete(name))
}
