/**
 * Which partitions of a system this process owns.
 *
 *     tick, each third of a lease ─▶ heartbeat ─▶ who lives ─▶ which partitions are ours ─▶ take, or give back (leases.js)
 *
 * A process has one lease, which its heartbeats renew (leases.js): a partition that it took stays its own while it lives. The server's
 * clock times the lease; this process counts from when it sent the heartbeat, so it stops before another one begins. What it sends late is
 * refused by the fencing token, or harmless because effects are idempotent.
 *
 * @typedef {import('./leases.js').Owned} Owned
 * @typedef {import('./leases.js').Work} Work
 * @typedef {object} Options
 * @property {string} id of this process, unlike any other
 * @property {number} partitions
 * @property {(partition: number) => import('../store/index.js').Connection} connectionOf to the primary
 * @property {(partition: number) => (part: string) => string} keyOf
 * @property {Work} work
 * @property {string | null} [driver] of the system: TASKS, or a consumer of entries; null: other processes have it
 * @property {import('pino').Logger} log
 * @property {(partition: number) => Promise<number>} [leastToken] the database may know higher tokens than the server
 * @property {number} [leaseMs] a heartbeat each third of it; a partition that is not free is tried again each twelfth
 * @property {(partition: number) => number} [homeOf] the partition whose heartbeats keep its lease, the same for all processes
 * @property {(partition: number) => void} [onClock] the clock of its primary jumped
 */
import { createHash } from 'node:crypto'
import { untilTick } from '../ticks.js'
import { createHeartbeats, createLeases, homesBy, MEMBERS } from './leases.js'

/**
 * Rendezvous hashing with bounded loads: a partition belongs to the process with the highest hash of both names that has not got its share
 * yet. So no process is idle while another has two partitions, and few move when a process comes or goes (Thaler and Ravishankar, 1998;
 * Mirrokni, Thorup and Zadimoghaddam, 2018).
 */

/** @param {string} id @param {number} partition @returns {number} 0 to 2^32 - 1 */
const weightOf = (id, partition) => createHash('sha1').update(`${id} ${partition}`).digest().readUInt32LE(0)

/**
 * @param {readonly string[]} ids of the processes that live, in any order @param {number} partitions
 * @returns {string[]} the id of the owner of each partition; empty without a process. Shares differ by one at most
 */
export function ownersOf (ids, partitions) {
  if (ids.length === 0) return []
  const share = Math.floor(partitions / ids.length)
  /** processes that may have one more */
  let more = partitions % ids.length
  /** @type {Map<string, number>} */
  const loads = new Map(ids.map((id) => [id, 0]))
  return Array.from({ length: partitions }, (_, partition) => {
    let [best, bestWeight] = ['', -1]
    for (const [id, load] of loads) {
      if (load > share || (load === share && more === 0)) continue
      const weight = weightOf(id, partition)
      if (weight > bestWeight || (weight === bestWeight && id > best)) [best, bestWeight] = [id, weight]
    }
    const load = /** @type {number} */ (loads.get(best))
    if (load === share) more--
    loads.set(best, load + 1)
    return best
  })
}

/** How long the partitions of a process that sends no heartbeat stay with it. */
export const LEASE_MS = 3000
const BEATS_PER_LEASE = 3
/** Tries of a partition that another process holds, or whose server did not answer. */
const TRIES_PER_LEASE = 12

/** One run at a time of each name; what fails is tried again by the next. */
function createRuns () {
  /** @type {Map<string | number, Promise<unknown>>} */
  const running = new Map()
  return {
    /** @param {string | number} name @param {() => Promise<unknown>} run @returns {Promise<unknown>} of the run that is under way */
    begin (name, run) {
      const promise = running.get(name) ?? run().catch(() => {}).finally(() => running.delete(name))
      running.set(name, promise)
      return promise
    },
    ended: () => Promise.all(running.values())
  }
}

/** @param {Options} options */
export function createOwnership ({ homeOf: givenHomeOf, onClock = () => {}, leaseMs = LEASE_MS, ...options }) {
  const { id, partitions, connectionOf } = options
  const homeOf = givenHomeOf ?? homesBy(connectionOf)
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  const [everyMs, tryMs] = [leaseMs / BEATS_PER_LEASE, leaseMs / TRIES_PER_LEASE]
  /** processes, as of the last heartbeat @type {string[]} */
  let lived = []
  /** partitions of this process among them @type {Set<number>} */
  let mine = new Set()
  let isClosed = false
  const runs = createRuns()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let dueMs = Infinity

  /** Looks again after this time at the latest. @param {number} ms */
  function lookWithin (ms) {
    if (isClosed || dueMs <= performance.now() + ms) return
    clearTimeout(timer)
    dueMs = performance.now() + ms
    timer = setTimeout(look, ms)
  }

  const leases = createLeases({
    ...options,
    homeOf,
    leaseMs,
    onTaken (partition, askedMs) { if (ownedAt(homeOf(partition)).length === 0) heartbeats.keep(homeOf(partition), askedMs) },
    onEnded: () => lookWithin(tryMs),
    onLeft: () => lookWithin(0)
  })

  /** @param {number} home @returns {number[]} partitions with a lease that it keeps */
  const ownedAt = (home) => [...leases.all.keys()].filter((partition) => homeOf(partition) === home)

  const heartbeats = createHeartbeats({
    ...options,
    leaseMs,
    onStop (home) { for (const partition of ownedAt(home)) leases.all.get(partition)?.stop.abort() },
    onJump: (home) => ownedAt(home).forEach(onClock)
  })

  /** @param {number} home */
  async function beat (home) {
    const leftMs = await heartbeats.beat(home)
    if (home !== MEMBERS) return
    const living = Object.keys(leftMs)
    if (String(living) !== String(lived)) {
      const owners = ownersOf(living, partitions)
      mine = new Set(all.filter((partition) => owners[partition] === id))
      lived = living
    }
    // one that sends no more heartbeats is gone when its lease is over
    lookWithin(1 + Math.min(...Object.values(leftMs)))
  }

  /** @param {number} partition */
  async function settleOne (partition) {
    const lease = leases.all.get(partition)
    if (lease !== undefined) return leases.settle(partition, lease, mine.has(partition))
    if (mine.has(partition)) await leases.take(partition)
  }

  /** A primary that does not answer delays its own partitions only. @param {readonly number[]} some */
  async function settle (some) {
    if (isClosed) return
    await Promise.all(some.map((partition) => runs.begin(partition, () => settleOne(partition))))
    if (all.some((partition) => mine.has(partition) !== leases.all.has(partition))) lookWithin(tryMs)
  }

  /** @param {number} home @param {readonly number[]} some partitions */
  const visit = (home, some) => runs.begin(`heartbeat ${home}`, () => beat(home)).then(() => settle(some))

  async function look () {
    dueMs = Infinity
    lookWithin(untilTick(everyMs))
    // what was stopped is left also while the server does not answer
    settle([...leases.all].flatMap(([partition, { stop }]) => stop.signal.aborted ? [partition] : []))
    const others = new Set([...mine, ...leases.all.keys()].map(homeOf))
    others.delete(MEMBERS)
    await Promise.all([visit(MEMBERS, all), ...[...others].map((home) => visit(home, ownedAt(home)))])
  }

  return {
    /** Resolves when the first partitions were taken, or the primary could not be asked. */
    joined: look(),

    /** Partitions that this process owns. */
    get owned () { return [...leases.all.keys()] },

    /** Gives all leases back, so that others can take them at once. */
    async close () {
      isClosed = true
      clearTimeout(timer)
      await runs.ended()
      await leases.close()
      await heartbeats.close()
    }
  }
}
