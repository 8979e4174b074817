/**
 * Runs scheduled tasks of a system when they are due. A task is a command: the script that decides it removes the task, so one that
 * ran twice, or whose process was killed, has one effect.
 *
 * @typedef {import('../admission/index.js').Command} Command
 */
import { randomUUID } from 'node:crypto'

const LOOK_EVERY_MS = 250
/** of a partition at once */
const MAX_TASKS = 256

/**
 * @param {{ partitions: number, connectionOf: (partition: number) => import('../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, submit: (command: Command) => Promise<unknown> }} parts
 * @returns {{ close: () => void }}
 */
export function runTasks ({ partitions, connectionOf, keyOf, submit }) {
  let isClosed = false
  /** @type {NodeJS.Timeout} */
  let timer

  /** Runs what is due. @param {number} partition @returns {Promise<number>} when the next one is due: ms since 1970 */
  async function run (partition) {
    const [[seconds, micros], flat] = await connectionOf(partition).sendAll([
      ['TIME'], ['ZRANGE', keyOf(partition)('tasks'), 0, MAX_TASKS - 1, 'WITHSCORES']
    ])
    const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    const running = []
    let nextMs = Infinity
    for (let i = 0; i < flat.length && nextMs === Infinity; i += 2) {
      const [rule, key, name] = String(flat[i]).split(' ')
      const dueMs = Number(flat[i + 1])
      if (dueMs > nowMs) nextMs = Date.now() + dueMs - nowMs
      else running.push(submit({ rule, key, scope: '', requestId: randomUUID(), args: [name] }))
    }
    await Promise.all(running)
    return nextMs
  }

  async function look () {
    const looks = await Promise.allSettled(Array.from({ length: partitions }, (_, partition) => run(partition)))
    const nextMs = Math.min(...looks.map((one) => one.status === 'fulfilled' ? one.value : Infinity))
    if (!isClosed) timer = setTimeout(look, Math.max(1, Math.min(LOOK_EVERY_MS, nextMs - Date.now())))
  }
  timer = setTimeout(look, 0)

  return {
    close () {
      isClosed = true
      clearTimeout(timer)
    }
  }
}
