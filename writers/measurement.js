/**
 * What a writer's summary is about: everything from the end of the warm-up on. At that moment its counters start at
 * zero; without a warm-up that is as soon as the feed is open. A run that ends within its warm-up measured nothing, and
 * only what failed is told.
 */
import { addAccounts, newAccount } from '../src/pipeline/account.js'
import { createBehind } from './tally.js'

/** @typedef {import('../src/pipeline/account.js').Account} Account */

/** @param {{ warmUp: number, clock: () => number }} options `warmUp` in seconds */
export function createMeasurement ({ warmUp, clock }) {
  let behind = createBehind()
  let since = newAccount()
  let sinceMs = 0
  let cpu = process.cpuUsage()
  let loop = performance.eventLoopUtilization()
  let isMeasuring = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  /** @param {Account} account */
  function begin (account) {
    behind = createBehind()
    since = addAccounts([account])
    sinceMs = clock()
    cpu = process.cpuUsage()
    loop = performance.eventLoopUtilization()
    isMeasuring = true
  }

  return {
    get isMeasuring () { return isMeasuring },

    /** @param {number} behindMs how late a flush started */
    behind: (behindMs) => behind.record(behindMs),

    /** The first item is about to be appended. @param {Account} account goes on counting @param {(account: Account) => void} onMeasuring the warm-up is over */
    start (account, onMeasuring) {
      const measure = () => {
        begin(account)
        onMeasuring(account)
      }
      if (warmUp > 0) timer = setTimeout(measure, warmUp * 1000)
      else measure()
    },

    /** @param {Account} account at the end @param {number} endMs on `clock` @returns {import('./tally.js').Tally} */
    end (account, endMs) {
      clearTimeout(timer)
      const measured = isMeasuring
      if (!measured) begin(account)
      const { user, system } = process.cpuUsage(cpu)
      return {
        account,
        since,
        seconds: measured ? Math.max(0, endMs - sinceMs) / 1000 : 0,
        cpuMicros: user + system,
        loopUse: measured ? performance.eventLoopUtilization(loop).utilization : 0,
        behind: behind.encode()
      }
    }
  }
}
