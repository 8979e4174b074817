/**
 * Runs scheduled tasks of a partition when they are due, by the process that owns it. The script that records what a task did removes it,
 * or moves it, so a task whose process was killed is run again, and one that ran twice has one effect.
 *
 *     due tasks -> run, many at a time -> wait: the next one is due, an entry of the outbox came, or LOOK_EVERY_MS
 *
 * What sets a task adds an entry to the outbox, unless it is `quiet`: so tasks are looked at after entries, and when the next one is due.
 * An entry that says which task it set starts that task without a look.
 *
 * A slow task delays no other one. A task is not run again before it ended.
 *
 * @typedef {{ rule: string, key: string, name: string }} Task
 * @typedef {object} Waker
 * @property {() => void} now tasks are looked at at once
 * @property {() => void} soon within SOON_MS
 * @property {(task: Task & { nextMs?: number }, entry: import('../admission/index.js').Entry) => void} start an entry that came with a task
 *   that is due; `nextMs`: when its next one is, ms since 1970
 */
import { MAX_BACK_MS } from '../admission/index.js'
import { untilTick } from '../ticks.js'

/**
 * Longest time between two looks, which all partitions of a process do together: for tasks that were set without an entry, and entries that
 * were missed. Clocks that jump end a wait (src/consumers/ownership.js).
 */
const LOOK_EVERY_MS = 5000
/** After an entry that may have set a task, so that one look serves many. */
const SOON_MS = 250
/** After a failed look. */
const LOOK_AGAIN_MS = 250
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
 * @param {(task: Task, entry?: import('../admission/index.js').Entry) => Promise<unknown>} run `entry`: that it came with; true: the task
 *   is over, and set no other one; errors leave it due, and it runs again after a pause; `isOutside` of an error: what failed is no part of
 *   the system
 * @param {(waker: Waker) => void} [onWaker] gets what ends a wait
 * @returns {Promise<void>} when the signal is aborted and nothing runs any more
 */
export async function runTasks ({ connectionOf, keyOf, clock }, { partition, signal, drives }, run, onWaker = () => {}) {
  /** Tasks by name; one that has ended stays until it may run again. @type {Map<string, Promise<void>>} */
  const running = new Map()
  /** Failures in a row, by name. @type {Map<string, number>} */
  const failures = new Map()
  /** Due again while they run. @type {Set<string>} */
  const again = new Set()
  const waits = createWaits()
  const pause = createPause()
  /** The clock of the primary less that of this process, at the last look: at most this, since the reply took its time. */
  let mostAheadMs = Infinity
  let active = 0
  onWaker({
    now: () => pause.endWithin(0),
    soon: () => pause.endWithin(SOON_MS),
    start (task, entry) {
      const text = textOf(task)
      if (task.nextMs) pause.endWithin(task.nextMs - mostAheadMs - performance.now())
      if (running.has(text)) return pause.endWithin(0)
      if (active >= MAX_TASKS || signal.aborted) return pause.endWithin(SOON_MS)
      waits.begin(text, 0)
      running.set(text, runOne(text, entry))
    }
  })
  drives?.(waits.ms)
  signal.addEventListener('abort', () => pause.endWithin(0), { once: true })

  /** @param {string} text rule, key and name @param {import('../admission/index.js').Entry} [entry] */
  async function runOne (text, entry) {
    const [rule, name, op] = text.split(' ')
    active++
    const { isOver, error } = await run({ rule, key: name, name: op }, entry)
      .then((result) => ({ isOver: result === true, error: null }), (error) => ({ isOver: false, error }))
    active--
    waits.end(text, error)
    const failed = error === null ? 0 : (failures.get(text) ?? 0) + 1
    if (failed > 0) failures.set(text, failed)
    else failures.delete(text)
    const againMs = Math.min(MAX_AGAIN_MS, AGAIN_MS * 2 ** failed)
    const leave = () => {
      running.delete(text)
      waits.leave(text)
    }
    if (!again.delete(text) && isOver) return leave()
    setTimeout(() => {
      leave()
      pause.endWithin(0)
    }, againMs).unref()
  }

  /** Starts what is due. @returns {Promise<number>} ms until the next look */
  async function look () {
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
    waits.next(null)
    for (let i = 0; i < flat.length; i += 2) {
      const [text, leftMs] = [String(flat[i]), Number(flat[i + 1]) - nowMs]
      if (leftMs > 0) return leftMs
      if (running.has(text)) {
        again.add(text)
        continue
      }
      if (active >= MAX_TASKS) {
        waits.next(text, -leftMs)
        return AGAIN_MS
      }
      waits.begin(text, -leftMs)
      running.set(text, runOne(text))
    }
    return Infinity
  }

  while (!signal.aborted) {
    const waitMs = await look().catch(() => LOOK_AGAIN_MS)
    await pause.wait(Math.max(1, Math.min(waitMs, untilTick(LOOK_EVERY_MS))))
  }
  await Promise.all(running.values())
}

/** @param {Task} task */
const textOf = ({ rule, key, name }) => `${rule} ${key} ${name}`

/** A wait that others may end, also before it begins. */
function createPause () {
  let endsMs = Infinity
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {(() => void) | null} */
  let end = null

  function set () {
    clearTimeout(timer)
    const leftMs = endsMs - performance.now()
    if (leftMs <= 0) end?.()
    else timer = setTimeout(() => end?.(), leftMs)
  }

  return {
    /** @param {number} ms at most @returns {Promise<void>} */
    async wait (ms) {
      endsMs = Math.min(endsMs, performance.now() + ms)
      await /** @type {Promise<void>} */ (new Promise((resolve) => {
        end = resolve
        set()
      }))
      clearTimeout(timer)
      end = null
      endsMs = Infinity
    },

    /** @param {number} ms from now */
    endWithin (ms) {
      const atMs = performance.now() + ms
      if (atMs >= endsMs) return
      endsMs = atMs
      if (end) set()
    }
  }
}

/**
 * Tasks that are commands: the rule decides what a task does, and the script removes it.
 * @template T @param {(command: import('../admission/index.js').Command) => Promise<T>} submit
 * @returns {(task: Task, args?: readonly string[]) => Promise<T>} `args` of the command, behind the name of the task
 */
export const taskCommands = (submit) => ({ rule, key, name }, args = []) =>
  submit({ rule, key, scope: '', requestId: '', args: [name, ...args], isTask: true })

/**
 * How long the tasks of a partition have waited for the process that owns it.
 *
 * A task waits from when it is due, or from when the partition was taken: the owner was not too slow before. A task that fails for another
 * reason than busy servers (its own fault, or something outside of the system is away) waits for that, not for the owner, until it is run
 * again.
 */

/** @typedef {ReturnType<typeof createWaits>} Waits */

export function createWaits () {
  let takenMs = performance.now()
  /** When a task last failed for such a reason, by its name. @type {Map<string, number>} */
  const heldUp = new Map()
  /** Since when tasks that run, or will run again, have waited, by name. @type {Map<string, number>} */
  const waiting = new Map()
  /** Since when the oldest task that was not started has waited. */
  let nextMs = Infinity

  /** @param {string} text of a task @param {number} lateMs since it was due */
  const sinceOf = (text, lateMs) => Math.max(performance.now() - lateMs, heldUp.get(text) ?? takenMs)

  return {
    /** The clock of the primary jumped: how late tasks are by it says nothing about the owner. */
    restart () { takenMs = performance.now() },

    /** @param {string} text @param {number} lateMs */
    begin (text, lateMs) { waiting.set(text, sinceOf(text, lateMs)) },

    /** The oldest task that is due and not started; null: there is none. @param {string | null} text @param {number} [lateMs] */
    next (text, lateMs = 0) { nextMs = text === null ? Infinity : sinceOf(text, lateMs) },

    /** @param {string} text @param {(Error & { retryable?: boolean, isOutside?: boolean }) | null} error null: it succeeded */
    end (text, error) {
      if (error?.retryable && !error.isOutside) return
      waiting.delete(text)
      if (error === null) heldUp.delete(text)
      else heldUp.set(text, performance.now())
    },

    /** A task whose pause is over may be there no more. @param {string} text */
    leave (text) { waiting.delete(text) },

    /** Of the oldest one. @returns {number} ms */
    ms () {
      let sinceMs = nextMs
      for (const taskSinceMs of waiting.values()) sinceMs = Math.min(sinceMs, taskSinceMs)
      return Math.max(0, performance.now() - sinceMs)
    }
  }
}
