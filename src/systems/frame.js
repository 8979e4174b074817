/**
 * The frame of what follows from commands, in one process: leases of partitions, and what is done for a partition while it is owned.
 *
 *     partition taken ─▶ tasks when they are due, or when an entry triggers them
 *                     ─▶ entries of its outbox ─▶ rows, another store, handlers: each with a cursor of its own
 *                     ─▶ another primary? ─▶ what was lost is restored
 *
 * Processes that do the same work share its partitions. Work that not every process does, such as a handler of the library, has owners of
 * its own, under its name.
 *
 * @import { Entry } from '../admission/index.js'
 * @import { Owned, Work } from '../consumers/index.js'
 * @import { Task } from '../schedule/index.js'
 * @import { Primaries } from '../store/index.js'
 * @import { OpenAdmission } from './opening.js'
 * @import { Logger } from 'pino'
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { followNews, followOutboxes } from '../admission/index.js'
import { createEffects, createOwnership, LEASE_MS, TASKS } from '../consumers/index.js'
import { FreshetError } from '../errors.js'
import { runTasks } from '../schedule/index.js'
import { untilTick } from '../ticks.js'

/** A system closes within a deadline, whatever its handlers and servers do. */

/** of handlers */
const CLOSE_WITHIN_MS = 10_000
/** longer, of what handlers may wait for: commands on their way */
export const GRACE_MS = 2000
const LATE = Symbol('late')

/**
 * @param {Promise<unknown>} closing @param {string} what is waited for @param {number} [graceMs] added to the deadline
 * @throws {FreshetError} DEADLINE_PASSED
 */
export async function closeInTime (closing, what, graceMs = 0) {
  const ms = CLOSE_WITHIN_MS + graceMs
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(resolve, ms, LATE) })
  const first = await Promise.race([closing, late]).finally(() => clearTimeout(timer))
  if (first !== LATE) return
  throw new FreshetError('DEADLINE_PASSED', `closed, but ${what} did not end within ${ms / 1000} s; handlers must end when their signal ` +
    'is aborted', { retryable: false })
}

const LOOK_EVERY_MS = 250
/** Tasks of a system that does not say which of its entries set some are looked at so often while there are entries. */
const NEWS_EVERY_MS = 250
/** The keys that named owners have. */
const NAMED_KEYS = Object.freeze(['owner', 'consumers', 'handler'])

/** @typedef {ReturnType<typeof createFrame>} Frame */
/** @typedef {{ finished: (entries: number) => void, failed: () => void, deadLettered: () => void }} ConsumerMetrics of a process */
/** @typedef {{ name: string, run: Work, close: () => unknown }} Effect of entries */

/**
 * @typedef {object} Job
 * @property {string} what it is, for messages
 * @property {string} [name] of owners of its own
 * @property {Effect[]} [effects]
 * @property {(task: Task, signal: AbortSignal, entry?: Entry) => Promise<unknown>} [run] tasks that are due; the signal is that of the
 *   partition; `entry`: that the task came with; true: the task is over, and set no other one
 * @property {(entry: Entry) => boolean | null | Task & { nextMs?: number }} [triggers] whether tasks are looked at at once; false: within a
 *   moment; null: it set no task; a task that is due is run without a look. Without it tasks are looked at while there are entries
 * @property {(partition: number) => Promise<void>} [onPrimary] when a partition is taken, and when its primary is another one
 * @property {string | null} [driver] of the system: TASKS, or the name of an effect
 * @property {(partition: number) => Promise<number>} [leastToken] as createOwnership
 */

/** @param {AbortSignal} signal @returns {Promise<void>} */
const aborted = (signal) => new Promise((resolve) => {
  if (signal.aborted) resolve()
  else signal.addEventListener('abort', () => resolve(), { once: true })
})

/**
 * @param {OpenAdmission['target']} target
 * @param {{ id: string, metrics: ConsumerMetrics, logged?: (key: string) => Record<string, unknown>, leaseMs?: number }} parts `id` of this
 *   process; `logged`: what the log says about a key
 */
export function createFrame (target, { id, metrics, logged, leaseMs = LEASE_MS }) {
  const { system, keyOf } = target
  const { letters, deadLetter, open: openEffect } = createEffects({ ...target, metrics, logged })
  /** @type {Set<{ close: () => Promise<void> }>} */
  const open = new Set()
  let isClosed = false

  /** @param {string | undefined} name @returns {typeof keyOf} */
  const keysOf = (name) => name === undefined
    ? keyOf
    : (partition) => (part) => keyOf(partition)(NAMED_KEYS.includes(part) ? `${part}:${name}` : part)

  return {
    letters,
    deadLetter,

    /**
     * @param {string} effect its name @param {Parameters<typeof openEffect>[1]} run for a partition
     * @param {{ everyMs?: number, owners?: string }} [options] `everyMs` as createOutboxReader; `owners`: name of a job with its own
     */
    effect: (effect, run, { everyMs, owners } = {}) => openEffect(effect, run, { everyMs, keysOf: keysOf(owners) }),

    /** @param {Job} job @throws {FreshetError} PIPELINE_CLOSED */
    join ({ what, name, driver = null, leastToken, ...job }) {
      if (isClosed) throw new FreshetError('PIPELINE_CLOSED', `the system ${system} is closed; open it again`)
      const { work, look, close: closeWork } = createWork(job, { target, driver, leaseMs })
      const ownership = createOwnership({ ...target, id, keyOf: keysOf(name), work, driver, leastToken, leaseMs, onClock: look })
      /** @type {Promise<void> | null} */
      let closing = null
      async function end () {
        const left = closeInTime(ownership.close(), what)
        await left.catch(() => {})
        await Promise.all([closeWork(), ...(job.effects ?? []).map(({ close }) => close())])
        open.delete(worker)
        return left
      }
      const worker = {
        /** Resolves when the first partitions were taken, or the primary could not be asked. */
        joined: ownership.joined,
        get owned () { return ownership.owned },
        close: () => (closing ??= end())
      }
      open.add(worker)
      return worker
    },

    /** @throws {FreshetError} DEADLINE_PASSED, once all have ended or were given up */
    async close () {
      isClosed = true
      const all = await Promise.allSettled([...open].map((worker) => worker.close()))
      for (const outcome of all) if (outcome.status === 'rejected') throw outcome.reason
    }
  }
}

/**
 * What is done for a partition while this process owns it.
 * @param {Pick<Job, 'effects' | 'run' | 'triggers' | 'onPrimary'>} job
 * @param {{ target: OpenAdmission['target'], leaseMs: number, driver: string | null }} parts
 */
function createWork ({ effects = [], run, triggers, onPrimary }, { target, target: { keyOf, routes, log }, driver, leaseMs }) {
  /** of owned partitions @type {Map<number, import('../schedule/index.js').Waker>} */
  const wakers = new Map()
  const look = (/** @type {number} */ partition) => wakers.get(partition)?.now()
  const waking = triggers && followOutboxes({
    ...target.streams,
    ...target,
    isOnDemand: true,
    onEntry (partition, entry) {
      const [waker, task] = [wakers.get(partition), triggers(entry)]
      if (task === null) return
      if (typeof task === 'object') waker?.start(task, entry)
      else if (task) waker?.now()
      else waker?.soon()
    },
    onReset: look
  })
  /** @param {number} partition @returns {() => void} ends it */
  function follow (partition) {
    if (waking) return waking.follow(partition)
    const leaving = new AbortController()
    followNews(target.streams.open, {
      key: keyOf(partition)('outbox'), everyMs: NEWS_EVERY_MS, onNews: () => look(partition), signal: leaving.signal, log
    })
    return () => leaving.abort()
  }

  return {
    /** @type {Work} */
    async work (partitionWork) {
      const { partition } = partitionWork
      const failing = new AbortController()
      const owned = { ...partitionWork, signal: AbortSignal.any([partitionWork.signal, failing.signal]) }
      const of = (/** @type {string} */ part) => part === driver ? owned : { ...owned, drives: undefined }
      const running = [aborted(owned.signal), ...effects.map((effect) => effect.run(of(effect.name)))]
      if (run) {
        let leave = () => {}
        const begin = (/** @type {import('../schedule/index.js').Waker} */ waker) => {
          wakers.set(partition, waker)
          leave = follow(partition)
        }
        running.push(runTasks(target, of(TASKS), (task, entry) => run(task, owned.signal, entry), begin).finally(() => {
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

    look,
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
 * Runs something when a partition is taken, and again whenever its primary is another one.
 * @param {Owned} owned
 * @param {{ idOf: () => string, run: (partition: number) => Promise<void>, log: Logger }} parts `idOf` the primary
 */
async function onEachPrimary ({ partition, signal }, { idOf, run, log }) {
  for (let lastId = ''; !signal.aborted; await sleep(untilTick(LOOK_EVERY_MS), undefined, { signal }).catch(() => {})) {
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
