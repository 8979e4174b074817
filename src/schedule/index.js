/**
 * Runs scheduled tasks of a partition when they are due, by the process that owns it. The script that records what a task did removes it,
 * or moves it, so a task whose process was killed is run again, and one that ran twice has one effect.
 *
 *     due tasks -> run, many at a time -> wait: the next one is due, a wake, or 250 ms
 *
 * A slow task delays no other one. A task is not run again before it ended.
 *
 * @typedef {{ rule: string, key: string, name: string }} Task
 */
import { MAX_BACK_MS } from '../admission/index.js'
import { createWaits } from './waits.js'

/** Longest time between two looks: a new task may be earlier than those read. */
const LOOK_EVERY_MS = 250
/** Longest time between two looks at the clock of the primary while no task is due by what is known of it. */
const CLOCK_EVERY_MS = 1000
/** Pause before a task that is still due after it ran runs again; doubled with each failure. */
const AGAIN_MS = 100
const MAX_AGAIN_MS = 2000
/** Most tasks that run at once. */
const MAX_TASKS = 256

/**
 * @param {{ connectionOf: (partition: number) => import('../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string,
 *   clock: Pick<import('../admission/index.js').PartitionClock, 'see' | 'turnBack'> }} system `connectionOf` the primary
 * @param {{ partition: number, signal: AbortSignal, drives?: (waitMs: () => number) => void }} owned `drives` gets for how long tasks
 *   have waited
 * @param {(task: Task) => Promise<unknown>} run errors leave the task due, and it runs again after a pause; `isOutside` of an error: what
 *   failed is no part of the system
 * @param {(wake: () => void) => void} [onWake] gets a function that ends a wait
 * @returns {Promise<void>} when the signal is aborted and nothing runs any more
 */
export async function runTasks ({ connectionOf, keyOf, clock }, { partition, signal, drives }, run, onWake = () => {}) {
  /** Tasks by name; one that has ended stays until it may run again. @type {Map<string, Promise<void>>} */
  const running = new Map()
  /** Failures in a row, by name. @type {Map<string, number>} */
  const failures = new Map()
  const waits = createWaits()
  /** The clock of the primary less that of this process, at the last look: at most this, since the reply took its time. */
  let mostAheadMs = Infinity
  let clockSeenMs = -Infinity
  let [active, isAwake] = [0, false]
  let wake = () => { isAwake = true }
  const wakeNow = () => wake()
  onWake(wakeNow)
  drives?.(waits.ms)
  signal.addEventListener('abort', wakeNow, { once: true })

  /** Waits until it is woken; ends at once if it was since the last time. @param {number} ms */
  const wait = (ms) => new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      isAwake = false
      wake = () => { isAwake = true }
      resolve(null)
    }
    const timer = setTimeout(end, ms)
    wake = end
    if (isAwake) end()
  })

  /** @param {string} text rule, key and name */
  async function runOne (text) {
    const [rule, name, op] = text.split(' ')
    active++
    const error = await run({ rule, key: name, name: op }).then(() => null, (error) => error)
    active--
    waits.end(text, error)
    const failed = error === null ? 0 : (failures.get(text) ?? 0) + 1
    if (failed > 0) failures.set(text, failed)
    else failures.delete(text)
    setTimeout(() => {
      running.delete(text)
      waits.leave(text)
    }, Math.min(MAX_AGAIN_MS, AGAIN_MS * 2 ** failed)).unref()
  }

  /** Starts what is due. @returns {Promise<number>} ms until the next look */
  async function look () {
    if (running.size === 0 && performance.now() - clockSeenMs < CLOCK_EVERY_MS) {
      const [, dueMs = Infinity] = await connectionOf(partition).send('ZRANGE', keyOf(partition)('tasks'), 0, 0, 'WITHSCORES')
      const leftMs = Number(dueMs) - performance.now() - mostAheadMs
      if (leftMs > 0) return Math.min(LOOK_EVERY_MS, leftMs)
    }
    const [primary, key, sentMs] = [connectionOf(partition), keyOf(partition), performance.now()]
    const [[seconds, micros], lastMs, flat] = await primary.sendAll([['TIME'], ['HGET', key('generation'), 'now'],
      ['ZRANGE', key('tasks'), 0, MAX_TASKS + running.size - 1, 'WITHSCORES']])
    const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    if (Number(lastMs ?? 0) - nowMs > MAX_BACK_MS) {
      await clock.turnBack(partition, primary)
      waits.restart()
      return 0
    }
    clock.see(partition, nowMs, sentMs)
    if (nowMs - performance.now() - mostAheadMs > MAX_BACK_MS) waits.restart()
    mostAheadMs = nowMs - sentMs
    clockSeenMs = performance.now()
    let waitMs = LOOK_EVERY_MS
    waits.next(null)
    for (let i = 0; i < flat.length; i += 2) {
      const [text, leftMs] = [String(flat[i]), Number(flat[i + 1]) - nowMs]
      if (leftMs > 0) {
        waitMs = Math.min(waitMs, leftMs)
        break
      }
      if (running.has(text)) continue
      if (active >= MAX_TASKS) {
        waits.next(text, -leftMs)
        break
      }
      waits.begin(text, -leftMs)
      running.set(text, runOne(text))
    }
    return running.size > 0 ? Math.min(waitMs, AGAIN_MS) : waitMs
  }

  while (!signal.aborted) {
    const waitMs = await look().catch(() => LOOK_EVERY_MS)
    await wait(Math.max(1, waitMs))
  }
  await Promise.all(running.values())
}

/**
 * Tasks that are commands: the rule decides what a task does, and the script removes it.
 * @template T @param {(command: import('../admission/index.js').Command) => Promise<T>} submit
 * @returns {(task: Task, args?: readonly string[]) => Promise<T>} `args` of the command, behind the name of the task
 */
export const taskCommands = (submit) => ({ rule, key, name }, args = []) =>
  submit({ rule, key, scope: '', requestId: '', args: [name, ...args], isTask: true })
