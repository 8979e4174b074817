/**
 * Which partitions of a system this process owns, and the work that it does for them.
 *
 * The server's clock times a lease; this process counts from when it sent the request, so it stops before another one begins. What it sends
 * late is refused by the fencing token, or harmless because effects are idempotent.
 *
 * Work may wait for this process. With each renewal of a lease it says for how long, and gateways refuse commands that would add to it
 * (lua/includes/partition.lua). A partition without an owner, or with a new one, has no such wait: its owner has not been too slow.
 *
 * @typedef {{ partition: number, token: number, signal: AbortSignal, drives?: (waitMs: WaitMs) => void }} Owned `token`: fencing token;
 *   `signal`: it is lost, or given back; `drives` tells how to ask the driver of the system for the wait of its work
 * @typedef {() => number} WaitMs for how long the oldest unfinished work of the partition has waited for this process; of a consumer of
 *   entries: for how long it has been able to work, because lua/lease.lua reads the age of its oldest entry
 * @typedef {(owned: Owned) => Promise<void>} Work ends when the signal is aborted
 * @typedef {{ token: number, waitMs: WaitMs, stop: AbortController, askedMs: number, timer: NodeJS.Timeout, working: Promise<void>,
 *   hasEnded: boolean, leaving: Promise<void> | null }} Lease `askedMs`: when it was given or renewed; `timer`: stops the work when the
 *   lease was not renewed in time, whatever the connection does
 */
import { ownerOf } from './assignment.js'

/** The driver of a system whose work is scheduled tasks. */
export const TASKS = '@tasks'
/** How long a partition stays with a process that sends no heartbeat. */
export const LEASE_MS = 3000
const RENEWALS_PER_LEASE = 3
/** Tries of a partition that another process holds, or whose server did not answer. */
const TRIES_PER_LEASE = 12
/** The keys of the script that gives leases. */
const LEASED = Object.freeze(['owner', 'generation', 'cursors', 'outbox'])
const NO_LEASE = Object.freeze({ token: 0, waitMs: () => 0 })

/** @param {AbortController} stop @param {number} atMs */
const stopAt = (stop, atMs) => setTimeout(() => stop.abort(), atMs - performance.now())

/** Other partitions are served all the while. @param {Lease} lease @param {Promise<unknown>} leaving */
const leave = (lease, leaving) => { lease.leaving = leaving.then(() => {}, () => {}) }

/** One run at a time of each name; what fails is tried again by the next. */
function createRuns () {
  /** @type {Map<string | number, Promise<unknown>>} */
  const running = new Map()
  return {
    /** @param {string | number} name @param {() => Promise<unknown>} run @returns {Promise<unknown>} of the run that is under way */
    begin (name, run) {
      const one = running.get(name) ?? run().catch(() => {}).finally(() => running.delete(name))
      running.set(name, one)
      return one
    },
    ended: () => Promise.all(running.values())
  }
}

/**
 * @param {object} options
 * @param {string} options.id of this process, unlike any other
 * @param {number} options.partitions
 * @param {(partition: number) => import('../store/index.js').Connection} options.connectionOf to the primary
 * @param {(partition: number) => (part: string) => string} options.keyOf
 * @param {Work} options.work
 * @param {string | null} [options.driver] of the system: TASKS, or a consumer of entries; null: other processes have it
 * @param {import('pino').Logger} options.log
 * @param {(partition: number) => Promise<number>} [options.leastToken] the database may know higher tokens than the server
 * @param {number} [options.leaseMs] renewed each third of it; a partition that is not free is tried again each twelfth
 */
export function createOwnership ({
  id, partitions, connectionOf, keyOf, work, driver = null, log, leastToken = async () => 0, leaseMs = LEASE_MS
}) {
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const everyMs = leaseMs / RENEWALS_PER_LEASE
  /** @type {Map<number, Lease>} by partition */
  const leases = new Map()
  /** @type {Set<number>} as of the last heartbeat */
  let mine = new Set()
  let isClosed = false
  let beatMs = -Infinity
  const runs = createRuns()
  /** @type {NodeJS.Timeout} */
  let timer

  /** @param {boolean} lives */
  async function beat (lives) {
    const nowMs = performance.now()
    const ids = await connectionOf(0).runScript('heartbeat', [keyOf(0)('consumers')], [id, lives ? 1 : 0, leaseMs])
    beatMs = nowMs
    const living = ids.map(String)
    mine = new Set(all.filter((partition) => ownerOf(living, partition) === id))
  }

  /** @param {number} partition @param {Pick<Lease, 'token' | 'waitMs'>} lease @param {number} ms @param {number} [least] */
  async function askLease (partition, { token, waitMs }, ms, least = 0) {
    const wait = driver === null ? ['', ''] : [Math.round(waitMs()), driver === TASKS ? '' : driver]
    return Number(await connectionOf(partition).runScript('lease', LEASED.map(keyOf(partition)), [id, token, ms, least, ...wait]))
  }

  /** @param {number} partition */
  async function take (partition) {
    const least = await leastToken(partition)
    const askedMs = performance.now()
    const token = await askLease(partition, NO_LEASE, leaseMs, least)
    if (token === 0) return
    const stop = new AbortController()
    /** @type {Lease} */
    const lease = {
      ...NO_LEASE, token, stop, askedMs, timer: stopAt(stop, askedMs + leaseMs), working: Promise.resolve(), hasEnded: false, leaving: null
    }
    lease.working = work({ partition, token, signal: stop.signal, drives: (waitMs) => { lease.waitMs = waitMs } })
      .catch((error) => log.error({ partition, code: error.code, reason: error.message }, 'work on a partition failed'))
      .finally(() => { lease.hasEnded = true })
    leases.set(partition, lease)
    log.info({ partition, token }, 'partition taken')
  }

  /** @param {number} partition @param {Lease} lease */
  async function renew (partition, lease) {
    const askedMs = performance.now()
    if (await askLease(partition, lease, leaseMs) !== lease.token) return leave(lease, drop(partition, lease, 'another has it'))
    clearTimeout(lease.timer)
    lease.askedMs = askedMs
    lease.timer = stopAt(lease.stop, askedMs + leaseMs)
  }

  /**
   * Waits for its work, so that nothing of it comes after the next owner's.
   * @param {number} partition @param {Lease} lease @param {string} why
   */
  async function drop (partition, lease, why) {
    lease.stop.abort()
    clearTimeout(lease.timer)
    await lease.working
    leases.delete(partition)
    log.info({ partition, token: lease.token, why }, 'partition left')
  }

  /** @param {number} partition @param {Lease} lease */
  const giveBack = (partition, lease) => drop(partition, lease, 'given back').then(() => askLease(partition, lease, 0))

  /** @param {number} partition */
  async function settleOne (partition) {
    const lease = leases.get(partition)
    if (lease === undefined) return mine.has(partition) ? take(partition) : undefined
    if (lease.leaving !== null) return
    if (lease.stop.signal.aborted) return leave(lease, drop(partition, lease, 'not renewed in time'))
    if (!mine.has(partition) || lease.hasEnded) return leave(lease, giveBack(partition, lease))
    return performance.now() - lease.askedMs >= everyMs ? renew(partition, lease) : undefined
  }

  /** A primary that does not answer delays its own partitions only. */
  const settle = () => Promise.all(isClosed ? [] : all.map((partition) => runs.begin(partition, () => settleOne(partition))))

  async function look () {
    timer = setTimeout(look, leaseMs / TRIES_PER_LEASE)
    settle()
    if (performance.now() - beatMs >= everyMs) await runs.begin('heartbeat', () => beat(true))
    await settle()
  }

  return {
    /** Resolves when the first partitions were taken, or the primary could not be asked. */
    joined: look(),

    /** Partitions that this process owns. */
    get owned () { return [...leases.keys()] },

    /** Gives all leases back, so that others can take them at once. */
    async close () {
      isClosed = true
      clearTimeout(timer)
      await runs.ended()
      await Promise.all([...leases].map(([partition, lease]) => lease.leaving ?? giveBack(partition, lease).catch(() => {})))
      await beat(false).catch(() => {})
    }
  }
}
