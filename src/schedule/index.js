/**
 * Runs scheduled tasks of a partition when they are due, by the process that owns it. A task is a command: the script that decides it
 * removes the task, so one that ran twice, or whose process was killed, has one effect.
 *
 * @typedef {import('../admission/index.js').Command} Command
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** a new task may be earlier than those known */
const LOOK_EVERY_MS = 250
/** at once */
const MAX_TASKS = 256

/**
 * @param {{ connection: () => import('../store/index.js').Connection, key: (part: string) => string,
 *   submit: (command: Command) => Promise<unknown>, signal: AbortSignal }} parts `connection` to the primary of the partition
 * @returns {Promise<void>} when the signal is aborted
 */
export async function runTasks ({ connection, key, submit, signal }) {
  /** Runs what is due. @returns {Promise<number>} ms until the next one is due */
  async function run () {
    const [[seconds, micros], flat] = await connection().sendAll([['TIME'], ['ZRANGE', key('tasks'), 0, MAX_TASKS - 1, 'WITHSCORES']])
    const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    const running = []
    let waitMs = LOOK_EVERY_MS
    for (let i = 0; i < flat.length; i += 2) {
      const [rule, name, op] = String(flat[i]).split(' ')
      const leftMs = Number(flat[i + 1]) - nowMs
      if (leftMs > 0) {
        waitMs = Math.min(LOOK_EVERY_MS, leftMs)
        break
      }
      running.push(submit({ rule, key: name, scope: '', requestId: randomUUID(), args: [op] }))
    }
    await Promise.allSettled(running)
    return waitMs
  }

  while (!signal.aborted) {
    const waitMs = await run().catch(() => LOOK_EVERY_MS)
    await sleep(Math.max(1, waitMs), undefined, { signal }).catch(() => {})
  }
}
