/**
 * What one process of a load did, in a form that can be sent to its parent and added up, and the one JSON line that a load
 * ends with: that of a writer (writers/summary.js), without what nodes did, which is the lab's to find out.
 *
 * @typedef {import('../../pipeline/account.js').Account} Account
 * @typedef {{ engine: string, account: Account, since: Account, seconds: number, cpuMicros: number, loopUse: number,
 *   behind: string }} Tally `account` of the whole run; `since`: as it was when measuring began, and all else is from then
 *   on; `loopUse`: which share of the time its event loop was busy, 0 to 1; `behind`: an encoded histogram
 */
import { build, decodeFromCompressedBase64 } from 'hdr-histogram-js'
import { accountSince, addAccounts, refusedOf } from '../../pipeline/account.js'

/** a histogram counts tenths of a millisecond */
const TENTHS = 10
const DAY_IN_TENTHS = 24 * 3600 * 1000 * TENTHS

/** Of lateness: 3 digits, up to a day. */
export const newHistogram = () => build({ lowestDiscernibleValue: 1, highestTrackableValue: DAY_IN_TENTHS, numberOfSignificantValueDigits: 3 })

/** @param {import('hdr-histogram-js').Histogram} histogram @param {number} ms */
export const recordMs = (histogram, ms) => histogram.recordValue(Math.min(DAY_IN_TENTHS, Math.round(ms * TENTHS)))

/** @param {import('hdr-histogram-js').Histogram} histogram */
function percentilesOf (histogram) {
  const ms = (/** @type {number} */ tenths) => Math.round(tenths) / TENTHS
  const percentile = (/** @type {number} */ percent) => ms(histogram.getValueAtPercentile(percent))
  return { p50: percentile(50), p95: percentile(95), p99: percentile(99), max: ms(histogram.totalCount ? histogram.maxValue : 0) }
}

/**
 * @param {import('./index.js').Settings} settings
 * @param {Tally[]} tallies one of each writer
 */
export function summaryOf (settings, tallies) {
  const account = addAccounts(tallies.map(({ account, since }) => accountSince(account, since)))
  const seconds = Math.max(...tallies.map(({ seconds }) => seconds))
  const cpuMicros = tallies.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0)
  const behind = newHistogram()
  for (const tally of tallies) behind.add(decodeFromCompressedBase64(tally.behind))
  return {
    event: 'summary',
    role: 'load',
    feed: settings.feed,
    layout: settings.layout,
    engine: tallies[0].engine,
    writers: settings.writers,
    offered: account.offered,
    items: account.items,
    refused: refusedOf(account),
    dropped: account.dropped,
    failed: account.failed,
    retried: account.retried,
    bytes: account.bytes,
    seconds: Math.round(seconds * 1000) / 1000,
    itemsPerSecond: seconds > 0 ? Math.round(account.items / seconds) : 0,
    batches: account.batches,
    behindMs: percentilesOf(behind),
    refusedBy: account.refused,
    writerCpuMicrosPerItem: account.items > 0 ? Math.round(cpuMicros * 100 / account.items) / 100 : null,
    loopUse: Math.round(Math.max(...tallies.map(({ loopUse }) => loopUse)) * 100) / 100,
    nodes: []
  }
}
