/**
 * What a writer process did, in a form that can be sent to its parent and added up.
 *
 * @typedef {{ account: import('../src/pipeline/account.js').Account, since: import('../src/pipeline/account.js').Account,
 *   seconds: number, cpuMicros: number, loopUse: number, behind: string }} Tally `account` of the whole run; `since`: as it
 *   was when measuring began, and all else is from then on; `cpuMicros` of the process; `loopUse`: which share of the
 *   time its event loop was busy, 0 to 1; `behind`: an encoded histogram of tenths of a millisecond
 */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js'
import { accountSince, addAccounts, newAccount } from '../src/pipeline/account.js'

const TENTHS = 10
const DAY_IN_TENTHS = 24 * 3600 * 1000 * TENTHS

/** Lateness of flushes: 3 digits, up to a day. */
export function createBehind () {
  const histogram = build({ lowestDiscernibleValue: 1, highestTrackableValue: DAY_IN_TENTHS, numberOfSignificantValueDigits: 3 })
  return {
    /** @param {number} behindMs */
    record: (behindMs) => histogram.recordValue(Math.min(DAY_IN_TENTHS, Math.round(behindMs * TENTHS))),
    encode: () => encodeIntoCompressedBase64(histogram)
  }
}

/** @returns {Tally} of a writer that has done nothing yet */
export const nothing = () => ({ account: newAccount(), since: newAccount(), seconds: 0, cpuMicros: 0, loopUse: 0, behind: createBehind().encode() })

/**
 * What was measured, of all writers.
 * @param {Tally[]} tallies of one run
 * @returns {{ account: Tally['account'], seconds: number, cpuMicros: number, loopUse: number,
 *   behindMs: { p50: number, p95: number, p99: number, max: number } }} `loopUse` of the writer with the largest
 */
export function addUp (tallies) {
  const behind = build({ lowestDiscernibleValue: 1, highestTrackableValue: DAY_IN_TENTHS, numberOfSignificantValueDigits: 3 })
  for (const tally of tallies) behind.add(decodeFromCompressedBase64(tally.behind))
  const ms = (/** @type {number} */ tenths) => Math.round(tenths) / TENTHS
  const percentile = (/** @type {number} */ percent) => ms(behind.getValueAtPercentile(percent))
  return {
    account: addAccounts(tallies.map(({ account, since }) => accountSince(account, since))),
    seconds: Math.max(0, ...tallies.map(({ seconds }) => seconds)),
    cpuMicros: tallies.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
    loopUse: Math.max(0, ...tallies.map(({ loopUse }) => loopUse)),
    behindMs: { p50: percentile(50), p95: percentile(95), p99: percentile(99), max: ms(behind.totalCount ? behind.maxValue : 0) }
  }
}
