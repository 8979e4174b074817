/**
 * Handlers of entries in the frame (frame.js), and scheduled tasks of rules with Lua. Each handler, and the tasks, have owners of their
 * own, because not every process has each handler.
 *
 *     consume('receipts', handler) ─▶ lease of a partition ─▶ its outbox from the cursor of `receipts` ─▶ handler ─▶ cursor
 *
 * A handler may outlast its lease. Then another process hands the same entries over under a higher token, which every effect must check; in
 * this process the partition waits until the handler has ended. One that does not end delays `close` until its deadline.
 *
 * @import { Task } from '../schedule/index.js'
 * @import { Command, Entry } from '../admission/index.js'
 * @import { Owned } from '../consumers/index.js'
 * @import { Frame, Job } from './frame.js'
 * @import { OpenAdmission } from './opening.js'
 * @import { Handler, Handlers } from './definition.js'
 * @import { Worker } from './opened-types.js'
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { eventOf } from '../admission/index.js'
import { followPartition, retry, TASKS } from '../consumers/index.js'
import { asError, FreshetError } from '../errors.js'
import { taskCommands } from '../schedule/index.js'
import { NAME, NAMED, OF_TASKS } from './checked-definition.js'
import { invalid } from './decisions.js'

/** at an entry that is taken alone */
const ATTEMPTS = 3
const MAX_ATTEMPTS = 1000

/** handlers of this process, by consumer and partition, also of a system that was opened twice @type {Map<string, Promise<unknown>>} */
const running = new Map()

/**
 * @param {OpenAdmission['target']} target
 * @param {{ frame: Frame, rules: object, submit: (command: Command) => Promise<unknown>, run?: Handlers['run'],
 *   triggers?: Handlers['triggers'], driver?: string }} parts `rules` that this process has, by name; `run` and `triggers` of tasks, as
 *   handlers; `driver` of the definition
 */
export function createConsumers (target, { frame, rules, submit, run: decide, triggers, driver }) {
  const { system, partitions, keyOf, connectionOf } = target

  /** @param {Omit<Job, 'what'> & { name: string }} job @returns {Promise<Worker>} */
  async function join (job) {
    const { joined, close } = frame.join({ what: `${job.name} of ${system}`, ...job })
    await joined
    return { close }
  }

  const ofTasks = { name: TASKS, triggers, driver: driver === OF_TASKS ? TASKS : null }
  const tasks = createTasks(target, { rules, submit, decide, join: (run) => join({ ...ofTasks, run }) })

  return {
    /** @param {string} consumer @param {Handler} handler @param {{ attempts?: number }} [options] */
    async consume (consumer, handler, { attempts = ATTEMPTS, ...rest } = {}) {
      expectArguments(consumer, handler, attempts, rest)
      const effect = frame.effect(consumer, (of) => followPartition(consumer, of, {
        attempts,
        isAwaited: true,
        write: (entries, begin) => handOver(of.key('handler'), entries, { begin, handler, owned: of.owned })
      }), { owners: consumer })
      for (let partition = 0; partition < partitions; partition++) {
        await connectionOf(partition).runScript('register-consumer', ['cursors', 'generation'].map(keyOf(partition)), [consumer])
      }
      return join({ name: consumer, effects: [effect] })
    },

    runTasks: tasks.run
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
 * @param {string} name of the handler in this process @param {Entry[]} entries
 * @param {{ begin: () => Promise<unknown>, handler: Handler, owned: Owned }} parts
 */
async function handOver (name, entries, { begin, handler, owned }) {
  // an entry without a sequence number is for readers
  const events = entries.filter(({ seq }) => seq > 0).map(({ id, rule, key, fields }) => ({ id, rule, key, ...eventOf(fields) }))
  if (events.length === 0) return
  while (running.has(name)) await running.get(name)?.catch(() => {})
  owned.signal.throwIfAborted()
  await begin()
  const handling = Promise.resolve().then(() => handler(events, owned)).catch((thrown) => { throw asError(thrown) })
  running.set(name, handling)
  await handling.finally(() => running.delete(name))
}

/**
 * The handlers of a definition, and the tasks of rules with Lua, in a process of consumers. Handlers of a system with tables begin once it
 * has them.
 * @param {import('./parts.js').Definition} definition @param {Handlers} made by it
 * @param {import('./parts.js').ConsumerParts} parts @param {Frame} frame
 * @returns {Promise<string[]>} their names
 */
export async function joinHandlers ({ name: system, rules, hasLua, migrations, driver }, { handlers = {}, run, triggers }, parts, frame) {
  const { target, submit, database, migrated, metrics, settings, signal, fail, log } = parts
  const { consume, runTasks } = createConsumers(target, { frame, rules, submit, run, triggers, driver })
  const more = { metrics, settings, ...database && { database: { query: database.query, transaction: database.transaction } } }
  const join = () => Promise.all(Object.entries(handlers).map(([consumer, handler]) =>
    retry(() => consume(consumer, (entries, owned) => handler(entries, { ...owned, ...more })), {
      signal,
      isLast: ({ retryable }) => !retryable,
      onFailure: ({ message }) => log.warn({ system, consumer, reason: message }, 'a consumer cannot join')
    })))
  if (hasLua) await runTasks()
  if (migrations) migrated.then(join).catch(fail)
  else await join()
  return Object.keys(handlers)
}

/**
 * Scheduled tasks of a system of a user: commands of their rules, from the process that owns the partition. A task that fails stays due.
 *
 *     due ─▶ submit ─▶ its call was stopped? ─▶ submit again, one at a time ─▶ stopped again? ─▶ a pause
 *
 * Tasks that are due together are decided in one call, and a rule that never ends fails all of it. One at a time, only its own task fails.
 */

/** The server answers nothing else while a rule that never ends runs. */
const STOPPED_PAUSE_MS = 60_000

/**
 * @param {OpenAdmission['target']} target
 * @param {{ rules: object, submit: (command: Command) => Promise<unknown>, decide?: (task: Task) => Promise<unknown>,
 *   join: (run: (task: Task, signal: AbortSignal) => Promise<unknown>) => Promise<Worker> }} parts `rules` that this process has, by name;
 *   `decide`: what a definition does with a task; `join` the processes that run tasks
 */
function createTasks (target, { rules, submit, decide = taskCommands(submit), join }) {
  const { system, log } = target
  /** @type {Promise<Worker> | null} */
  let joined = null
  let hasLeft = false
  /** of those that run one at a time @type {Promise<unknown>} */
  let last = Promise.resolve()

  /** @param {Task} task @param {AbortSignal} signal */
  function decideAlone (task, signal) {
    const deciding = last.then(() => {
      signal.throwIfAborted()
      return decide(task)
    })
    last = deciding.catch(() => {})
    return deciding
  }

  /** @param {Task} task @param {AbortSignal} signal of the partition */
  async function runTask (task, signal) {
    try {
      // a rule may have been taken out of the system, so the process goes on with the tasks of others
      if (!Object.hasOwn(rules, task.rule)) {
        throw new FreshetError('RULE_FAILED', `this process has no rule ${task.rule}; start one that has it`)
      }
      await decide(task).catch((error) => {
        if (!error.isStopped) throw error
        return decideAlone(task, signal)
      })
    } catch (error) {
      if (signal.aborted) throw error
      log.warn({ system, ...task, code: error.code, reason: error.message }, 'a scheduled task is tried again')
      if (error.code === 'RULE_DIFFERS') leave()
      if (error.isStopped) await sleep(STOPPED_PAUSE_MS, undefined, { signal }).catch(() => {})
      throw error
    }
  }

  /** A process with an older rule decides nothing more; those with the newer one take its partitions. */
  async function leave () {
    if (hasLeft) return
    hasLeft = true
    log.warn({ system }, 'scheduled tasks are left to processes with the newer rules')
    await (await joined)?.close()
  }

  return {
    /** @returns {Promise<void>} when the first partitions were taken */
    async run () {
      joined ??= join(runTask)
      await joined
    }
  }
}
