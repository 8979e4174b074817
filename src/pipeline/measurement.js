/**
 * What a summary is about: everything from the end of the warm-up on. At that moment counters, lateness, processor time
 * and the use of the event loop start at zero. A run that ends before it measured nothing, and only what failed is told.
 */
import { addAccounts, newAccount } from './account.js'
import { createTimes } from './tally.js'

/** @typedef {import('./account.js').Account} Account */

/** @returns one process's */
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

    /** @param {number} flushMs from when a batch was sent until it was acknowledged */
    flush: (flushMs) => flush.record(flushMs),

    /** The warm-up is over. @param {Account} account goes on counting @param {number} nowMs on the clock of the run */
    begin (account, nowMs) {
      behind = createTimes()
      flush = createTimes()
      since = addAccounts([account])
      sinceMs = nowMs
      cpu = process.cpuUsage()
      loop = performance.eventLoopUtilization()
      isMeasuring = true
    },

    /** @param {Account} account at the end @param {number} endMs on the clock of the run @returns {import('./tally.js').Tally} */
    end (account, endMs) {
      const { user, system } = process.cpuUsage(cpu)
      const measured = { account, since, seconds: Math.max(0, endMs - sinceMs) / 1000, cpuMicros: user + system, loopUse: performance.eventLoopUtilization(loop).utilization, behind: behind.encode(), flush: flush.encode() }
      if (isMeasuring) return measured
      return { ...measured, since: addAccounts([account]), seconds: 0, cpuMicros: 0, loopUse: 0, behind: createTimes().encode(), flush: createTimes().encode() }
    }
  }
}
