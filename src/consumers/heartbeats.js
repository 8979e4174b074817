/**
 * Heartbeats of this process, which keep its leases (lua/heartbeat.lua): to partition 0, which knows all processes. In a cluster, where a
 * script has the keys of one partition only, to each partition.
 *
 * @typedef {{ timer: NodeJS.Timeout | undefined, aheadMs: number }} Home a partition that heartbeats go to; `timer`: stops what they keep
 *   when none succeeded in time, whatever the connection does; `aheadMs`: the clock of its server less that of this process
 */
import { fieldsOf } from '../admission/index.js'

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
    const one = homes.get(home) ?? { timer: undefined, aheadMs: NaN }
    homes.set(home, one)
    clearTimeout(one.timer)
    one.timer = setTimeout(() => onStop(home), askedMs + leaseMs - performance.now()).unref()
    return one
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
      const one = keep(home, askedMs)
      const aheadMs = Number(now) - askedMs
      if (Math.abs(aheadMs - one.aheadMs) > JUMP_MS) onJump(home)
      one.aheadMs = aheadMs
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
