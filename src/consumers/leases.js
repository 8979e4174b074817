/**
 * The leases of a process on partitions (lua/lease.lua), and the work of each while it has it.
 *
 * Work may wait for this process. It says for how long, each third of a lease, and gateways refuse commands that would add to it
 * (lua/includes/partition.lua). That nothing waits is said every few seconds, with a look whether the lease is still ours, and with the
 * time, which must be known for when the clock goes back. A partition without an owner, or with a new one, has no such wait: its owner has
 * not been too slow.
 *
 * @typedef {{ partition: number, token: number, signal: AbortSignal, drives?: (waitMs: WaitMs) => void }} Owned `token`: fencing token;
 *   `signal`: it is lost, or given back; `drives` tells how to ask the driver of the system for the wait of its work
 * @typedef {() => number} WaitMs for how long the oldest unfinished work of the partition has waited for this process; of a consumer of
 *   entries: for how long it has been able to work, because lua/lease.lua reads the age of its oldest entry
 * @typedef {(owned: Owned) => Promise<void>} Work ends when the signal is aborted
 * @typedef {{ token: number, waitMs: WaitMs, stop: AbortController, connection: unknown, notedMs: number, reportedMs: number,
 *   working: Promise<void>, hasEnded: boolean, leaving: Promise<void> | null }} Lease `notedMs`: when the server was last asked about it;
 *   `reportedMs`: the last wait that was reported to it
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldsOf } from '../admission/index.js'

/**
 * Heartbeats of this process, which keep its leases (lua/heartbeat.lua): to partition 0, which knows all processes. In a cluster, where a
 * script has the keys of one partition only, to each partition.
 *
 * @typedef {{ timer: NodeJS.Timeout | undefined, aheadMs: number }} Home a partition that heartbeats go to; `timer`: stops what they keep
 *   when none succeeded in time, whatever the connection does; `aheadMs`: the clock of its server less that of this process
 */

/** The partition that knows all processes. */
export const MEMBERS = 0
/** A clock that went further from that of this process than replies take. */
const JUMP_MS = 500

/**
 * @param {{ id: string, leaseMs: number, connectionOf: (partition: number) => import('../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, onStop: (home: number) => void, onJump: (home: number) => void }} parts
 *   `onStop`: what this home keeps is kept no longer; `onJump`: the clock of its server jumped
 */
export function createHeartbeats ({ id, leaseMs, connectionOf, keyOf, onStop, onJump }) {
  /** @type {Map<number, Home>} by partition */
  const homes = new Map()

  /** @param {number} home @param {number} askedMs when the server was asked for what lasts for a lease */
  function keep (home, askedMs) {
    const lease = homes.get(home) ?? { timer: undefined, aheadMs: NaN }
    homes.set(home, lease)
    clearTimeout(lease.timer)
    lease.timer = setTimeout(() => onStop(home), askedMs + leaseMs - performance.now()).unref()
    return lease
  }

  /** @param {number} home @param {boolean} lives */
  const say = async (home, lives) => connectionOf(home).runScript('heartbeat', [keyOf(home)('consumers')], [id, lives ? 1 : 0, leaseMs])

  return {
    keep,

    /** @param {number} home @returns {Promise<Record<string, number>>} of each process that lives: for how long without a heartbeat, ms */
    async beat (home) {
      const askedMs = performance.now()
      const [now, lived, ...living] = await say(home, true)
      if (lived === 0) onStop(home)
      const lease = keep(home, askedMs)
      const aheadMs = Number(now) - askedMs
      if (Math.abs(aheadMs - lease.aheadMs) > JUMP_MS) onJump(home)
      lease.aheadMs = aheadMs
      return Object.fromEntries(Object.entries(fieldsOf(living)).map(([process, leftMs]) => [process, Number(leftMs)]))
    },

    /** This process leaves. */
    async close () {
      for (const { timer } of homes.values()) clearTimeout(timer)
      await Promise.all([...homes.keys()].map((home) => say(home, false).catch(() => {})))
    }
  }
}

/**
 * Where heartbeats go for a partition; while there is no connection, as before.
 * @param {(partition: number) => import('../store/index.js').Connection} connectionOf @returns {(partition: number) => number}
 */
export function homesBy (connectionOf) {
  let isOfCluster = false
  return (partition) => {
    try {
      isOfCluster = connectionOf(partition).isOfCluster
    } catch {
      // what needs the connection reports why there is none
    }
    return isOfCluster ? partition : MEMBERS
  }
}

/** The driver of a system whose work is scheduled tasks. */
export const TASKS = '@tasks'
/** Between two looks at an own lease, in leases; lua/lease.lua has a wait of none for longer. */
const NOTE_EVERY_LEASES = 5 / 3
/** Work that waits no longer than this is no backlog. */
const LEAST_WAIT_MS = 100
/** The keys of the script that gives leases, before that of the heartbeats. */
const LEASED = Object.freeze(['owner', 'generation', 'cursors', 'outbox'])
const ANOTHERS = 'another has it'
const NO_LEASE = Object.freeze({ token: 0, waitMs: () => 0 })

/** @param {number} waitMs */
const atLeast = (waitMs) => waitMs < LEAST_WAIT_MS ? 0 : waitMs

/**
 * @param {Pick<import('./ownership.js').Options, 'id' | 'connectionOf' | 'keyOf' | 'work' | 'driver' | 'log' | 'leastToken'> & {
 *   leaseMs: number, homeOf: (partition: number) => number, onTaken: (partition: number, askedMs: number) => void, onEnded: () => void,
 *   onLeft: () => void }} parts `homeOf`: as createOwnership; `onTaken`: the server was asked at `askedMs`; `onEnded`: work has; `onLeft`:
 *   a partition may be taken again
 */
export function createLeases ({
  id, connectionOf, keyOf, homeOf, work, driver = null, log, leastToken = async () => 0, leaseMs, onTaken, onEnded, onLeft
}) {
  /** @type {Map<number, Lease>} by partition */
  const leases = new Map()

  /** @param {number} partition @param {Pick<Lease, 'token' | 'waitMs'>} lease @param {number} ms @param {number} [least] */
  async function askLease (partition, { token, waitMs }, ms, least = 0) {
    const wait = driver === null ? ['', ''] : [Math.round(waitMs()), driver === TASKS ? '' : driver]
    const keys = [...LEASED.map(keyOf(partition)), keyOf(homeOf(partition))('consumers')]
    return Number(await connectionOf(partition).runScript('lease', keys, [id, token, ms, least, ...wait]))
  }

  /** @param {number} partition */
  async function take (partition) {
    const least = await leastToken(partition)
    const [askedMs, connection] = [performance.now(), connectionOf(partition)]
    const token = await askLease(partition, NO_LEASE, leaseMs, least)
    if (token === 0) return
    onTaken(partition, askedMs)
    const stop = new AbortController()
    /** @type {Lease} */
    const lease = {
      ...NO_LEASE, token, stop, connection, notedMs: askedMs, reportedMs: 0, working: Promise.resolve(), hasEnded: false, leaving: null
    }
    lease.working = work({ partition, token, signal: stop.signal, drives: (waitMs) => { lease.waitMs = () => atLeast(waitMs()) } })
      .catch((error) => log.error({ partition, code: error.code, reason: error.message }, 'work on a partition failed'))
      .finally(() => {
        lease.hasEnded = true
        onEnded()
      })
    leases.set(partition, lease)
    log.info({ partition, token }, 'partition taken')
  }

  /** Looks whether the lease is still ours, and says how long work waits. @param {number} partition @param {Lease} lease */
  async function note (partition, lease) {
    const [waitMs, connection] = [lease.waitMs(), connectionOf(partition)]
    const isDue = performance.now() - lease.notedMs >= leaseMs * NOTE_EVERY_LEASES || connection !== lease.connection
    if (!isDue && (driver === null || (waitMs === 0 && lease.reportedMs === 0))) return
    const askedMs = performance.now()
    if (await askLease(partition, lease, leaseMs) !== lease.token) leave(partition, lease, ANOTHERS)
    else Object.assign(lease, { connection, notedMs: askedMs, reportedMs: waitMs })
  }

  /**
   * Waits for its work, so that nothing of it comes after the next owner's; but no longer than a lease, because a handler may never end.
   * @param {number} partition @param {Lease} lease @param {string} why
   */
  async function drop (partition, lease, why) {
    lease.stop.abort()
    await Promise.race([lease.working, sleep(leaseMs, undefined, { ref: false })])
    if (why !== ANOTHERS) await askLease(partition, lease, 0).catch(() => {})
    await lease.working
    leases.delete(partition)
    log.info({ partition, token: lease.token, why }, 'partition left')
    onLeft()
  }

  /** Other partitions are served all the while. @param {number} partition @param {Lease} lease @param {string} why */
  function leave (partition, lease, why) {
    lease.leaving ??= drop(partition, lease, why).then(() => {}, () => {})
    return lease.leaving
  }

  return {
    /** By partition. @type {ReadonlyMap<number, Lease>} */
    all: leases,
    take,

    /** What follows for a lease at a tick. @param {number} partition @param {Lease} lease @param {boolean} isMine */
    async settle (partition, lease, isMine) {
      if (lease.leaving !== null) return
      if (lease.stop.signal.aborted) leave(partition, lease, 'not renewed in time')
      else if (!isMine || lease.hasEnded) leave(partition, lease, 'given back')
      else await note(partition, lease)
    },

    /** Gives all back. */
    close: () => Promise.all([...leases].map(([partition, lease]) => leave(partition, lease, 'given back')))
  }
}
