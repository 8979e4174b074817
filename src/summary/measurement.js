/**
 * Measures a run from the end of its warm-up: then counters, delays, processor time and event loop use start at zero. A run
 * that ends within its warm-up measured nothing and reports failed items only.
 */
import { addAccounts, newAccount } from '../pipeline/index.js'
import { createTimes, emptyTally } from './summary.js'

/** @typedef {import('../pipeline/index.js').Account} Account */

/** For one process. */
export function createMeasurement () {
  let behind = createTimes()
  let flush = createTimes()
  let since = newAccount()
  let sinceMs = 0
  let cpu = process.cpuUsage()
  let loop = performance.eventLoopUtilization()
  let isMeasuring = false

  return {
    get isMeasuring () { return isMeasuring },

    /** @param {number} behindMs how late a flush started */
    behind: (behindMs) => behind.record(behindMs),

    /** @param {number} flushMs from the sending of a batch to its acknowledgement */
    flush: (flushMs) => flush.record(flushMs),

    /** The warm-up is over. @param {Account} account keeps counting @param {number} nowMs on the clock of the run */
    begin (account, nowMs) {
      behind = createTimes()
      flush = createTimes()
      since = addAccounts([account])
      sinceMs = nowMs
      cpu = process.cpuUsage()
      loop = performance.eventLoopUtilization()
      isMeasuring = true
    },

    /** @param {Account} account at the end @param {number} endMs on the clock of the run @returns {import('./summary.js').Tally} */
    end (account, endMs) {
      if (!isMeasuring) return { ...emptyTally(), account, since: addAccounts([account]) }
      const { user, system } = process.cpuUsage(cpu)
      return {
        account,
        since,
        seconds: Math.max(0, endMs - sinceMs) / 1000,
        cpuMicros: user + system,
        loopUse: performance.eventLoopUtilization(loop).utilization,
        behind: behind.encode(),
        flush: flush.encode()
      }
    }
  }
}
