/**
 * What a process sees of the clocks of the primaries. One that went back, by a correction or a failover, is noted: in the log, as a metric,
 * and for /readyz.
 *
 *     decision, look of the scheduler: TIME is more than a second before the time that the partition noted
 *         -> lua/turn-back.lua, once: tasks and holds that are durations move with the clock
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {ReturnType<typeof createPartitionClock>} PartitionClock
 */
import { DURATIONS } from './rules.js'

/** A clock that went back further is noted; lua/includes/partition.lua has it too. */
export const MAX_BACK_MS = 1000
/** How long /readyz names it. */
const NOTED_FOR_MS = 600_000

/**
 * @param {{ system: string, durations?: readonly string[], keyOf: (partition: number) => (part: string) => string,
 *   metrics: { clockBack?: () => void }, log: import('pino').Logger, nowMs?: () => number }} options `durations`: rule and name of the
 *   tasks that are to run some time after they are set; `nowMs` of this process, monotonic
 */
export function createPartitionClock ({ system, durations = DURATIONS, keyOf, metrics, log, nowMs: ownMs = () => performance.now() }) {
  /** The newest time of each server, and when it came. @type {Map<number, { nowMs: number, cameMs: number }>} */
  const seen = new Map()
  /** @type {{ backMs: number, at: string, notedMs: number } | null} */
  let noted = null

  /** @param {number} partition @param {number} backMs */
  function note (partition, backMs) {
    noted = { backMs, at: new Date().toISOString(), notedMs: ownMs() }
    metrics.clockBack?.()
    log.warn({ system, partition, backMs }, 'the clock of the primary went back')
  }

  return {
    /**
     * A reply that overtook others is no news.
     * @param {number} partition @param {number} nowMs of the server @param {number} sentMs when it was asked, by performance.now()
     */
    see (partition, nowMs, sentMs) {
      const last = seen.get(partition)
      if (last && sentMs < last.cameMs) return
      if (last && last.nowMs - nowMs > MAX_BACK_MS) note(partition, Math.round(last.nowMs - nowMs))
      seen.set(partition, { nowMs, cameMs: ownMs() })
    },

    /**
     * What follows from a clock that went back, unless another process has done it.
     * @param {number} partition @param {Connection} primary
     */
    async turnBack (partition, primary) {
      const backMs = Number(await primary.runScript('turn-back', ['generation', 'tasks'].map(keyOf(partition)), [...durations]))
      if (backMs === 0) return
      seen.delete(partition)
      note(partition, backMs)
    },

    /** For /readyz: decisions go on, so it is no reason against this process. @returns {string[]} */
    notes: () => noted === null || ownMs() - noted.notedMs > NOTED_FOR_MS
      ? []
      : [`CLOCK_BACK: the clock of a primary of ${system} went back by ${noted.backMs} ms, seen at ${noted.at} by the clock of this ` +
        'process; compare the clocks of the servers']
  }
}
