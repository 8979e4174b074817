/**
 * Scheduled tasks of a system of a user: commands of their rules, from the process that owns the partition. A task that fails stays due.
 *
 *     due ─▶ submit ─▶ its call was stopped? ─▶ submit again, one at a time ─▶ stopped again? ─▶ a pause
 *
 * Tasks that are due together are decided in one call, and a rule that never ends fails all of it. One at a time, only its own task fails.
 *
 * @import { Command } from '../admission/index.js'
 * @import { Task } from '../schedule/index.js'
 * @import { OpenAdmission } from './opening.js'
 * @import { Worker } from './opened-types.js'
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { taskCommands } from '../schedule/index.js'

/** The server answers nothing else while a rule that never ends runs. */
const STOPPED_PAUSE_MS = 60_000

/**
 * @param {OpenAdmission['target']} target
 * @param {{ rules: object, submit: (command: Command) => Promise<unknown>, decide?: (task: Task) => Promise<unknown>,
 *   join: (run: (task: Task, signal: AbortSignal) => Promise<unknown>) => Promise<Worker> }} parts `rules` that this process has, by name;
 *   `decide`: what a definition does with a task; `join` the processes that run tasks
 */
export function createTasks (target, { rules, submit, decide = taskCommands(submit), join }) {
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
      if (!Object.hasOwn(rules, task.rule)) throw new FreshetError('RULE_FAILED', `this process has no rule ${task.rule}`)
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
