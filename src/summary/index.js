/**
 * The result of one writing process (a tally), which its parent adds up, and the summary line of a run. Writers and loads of
 * the lab print the same line.
 *
 * @typedef {import('../pipeline/index.js').Account} Account
 * @typedef {{ account: Account, since: Account, seconds: number, cpuMicros: number, loopUse: number, behind: string,
 *   flush: string }} Tally
 *   `account`: of the whole run; `since`: a copy from when measuring began, where all other figures start; `cpuMicros`: of the
 *   process; `loopUse`: busy share of its event loop, 0 to 1; `behind`, `flush`: encoded histograms of tenths of a millisecond
 * @typedef {{ p50: number, p95: number, p99: number, max: number }} Percentiles ms
 */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js'
import { accountSince, addAccounts, decidedOf, newAccount, refusedOf } from '../pipeline/index.js'

const TENTHS = 10
const DAY_IN_TENTHS = 24 * 3600 * 1000 * TENTHS

const newHistogram = () =>
  build({ lowestDiscernibleValue: 1, highestTrackableValue: DAY_IN_TENTHS, numberOfSignificantValueDigits: 3 })

/** A histogram of durations up to a day, 3 significant digits. */
export function createTimes () {
  const histogram = newHistogram()
  return {
    /** @param {number} ms */
    record: (ms) => histogram.recordValue(Math.min(DAY_IN_TENTHS, Math.round(ms * TENTHS))),
    encode: () => encodeIntoCompressedBase64(histogram)
  }
}

/** @returns {Tally} of a process that has done nothing */
export function emptyTally () {
  const times = createTimes().encode()
  return { account: newAccount(), since: newAccount(), seconds: 0, cpuMicros: 0, loopUse: 0, behind: times, flush: times }
}

/**
 * Adds up the measured part of all tallies of one run.
 * @param {Tally[]} tallies
 * @returns {{ account: Account, seconds: number, cpuMicros: number, loopUse: number, behindMs: Percentiles, flushMs: Percentiles }}
 *   `loopUse`: the largest
 */
function addTallies (tallies) {
  return {
    account: addAccounts(tallies.map(({ account, since }) => accountSince(account, since))),
    seconds: Math.max(0, ...tallies.map(({ seconds }) => seconds)),
    cpuMicros: tallies.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
    loopUse: Math.max(0, ...tallies.map(({ loopUse }) => loopUse)),
    behindMs: percentilesOf(tallies.map(({ behind }) => behind)),
    flushMs: percentilesOf(tallies.map(({ flush }) => flush))
  }
}

/** @param {string[]} encoded histograms @returns {Percentiles} of all together; 0 without records */
function percentilesOf (encoded) {
  const all = newHistogram()
  for (const histogram of encoded) all.add(decodeFromCompressedBase64(histogram))
  const ms = (/** @type {number} */ tenths) => Math.round(tenths) / TENTHS
  const percentile = (/** @type {number} */ percent) => ms(all.getValueAtPercentile(percent))
  return { p50: percentile(50), p95: percentile(95), p99: percentile(99), max: ms(all.totalCount ? all.maxValue : 0) }
}

/**
 * The summary without `nodes`, which the caller adds.
 * @template {'writer' | 'load'} Role
 * @param {{ role: Role, settings: { feed: string, layout: string, writers: number }, engine: string | null, tallies: Tally[] }} run
 */
export function summaryLine ({ role, settings, engine, tallies }) {
  const { account, seconds, cpuMicros, loopUse, behindMs, flushMs } = addTallies(tallies)
  const rateOf = (/** @type {number} */ items) => seconds > 0 ? Math.round(items / seconds) : 0
  return {
    event: 'summary',
    role,
    feed: settings.feed,
    layout: settings.layout,
    engine,
    writers: settings.writers,
    offered: account.offered,
    items: account.items,
    refused: refusedOf(account),
    dropped: account.dropped,
    failed: account.failed,
    retried: account.retried,
    bytes: account.bytes,
    seconds: Math.round(seconds * 1000) / 1000,
    itemsPerSecond: rateOf(account.items),
    offeredPerSecond: rateOf(account.offered),
    batches: account.batches,
    behindMs,
    flushMs,
    refusedBy: account.refused,
    writerCpuMicrosPerItem: perItem(cpuMicros, decidedOf(account)),
    loopUse: Math.round(loopUse * 100) / 100
  }
}

/** @param {number} micros @param {number} items @returns {number | null} null = no items */
export const perItem = (micros, items) => items > 0 ? Math.round(micros * 100 / items) / 100 : null

/**
 * Measures a run from the end of its warm-up: then counters, delays, processor time and event loop use start at zero. A run
 * that ends within its warm-up measured nothing and reports failed items only.
 */

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

    /** @param {Account} account at the end @param {number} endMs on the clock of the run @returns {Tally} */
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
