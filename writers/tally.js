/**
 * What a writer process did, in a form that can be sent to its parent and added up.
 *
 * @typedef {{ account: import('../src/pipeline/account.js').Account, seconds: number, cpuMicros: number,
 *   behind: string }} Tally `cpuMicros` of the process while it wrote; `behind`: an encoded histogram of
 *   tenths of a millisecond
 */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js'
import { addAccounts, newAccount } from '../src/pipeline/account.js'

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
export const nothing = () => ({ account: newAccount(), seconds: 0, cpuMicros: 0, behind: createBehind().encode() })

/**
 * @param {Tally[]} tallies of one run
 * @returns {{ account: Tally['account'], seconds: number, cpuMicros: number, behindMs: { p50: number, p99: number, max: number } }}
 */
export function addUp (tallies) {
  const behind = build({ lowestDiscernibleValue: 1, highestTrackableValue: DAY_IN_TENTHS, numberOfSignificantValueDigits: 3 })
  for (const tally of tallies) behind.add(decodeFromCompressedBase64(tally.behind))
  const ms = (/** @type {number} */ tenths) => Math.round(tenths) / TENTHS
  return {
    account: addAccounts(tallies.map((tally) => tally.account)),
    seconds: Math.max(0, ...tallies.map((tally) => tally.seconds)),
    cpuMicros: tallies.reduce((sum, tally) => sum + tally.cpuMicros, 0),
    behindMs: { p50: ms(behind.getValueAtPercentile(50)), p99: ms(behind.getValueAtPercentile(99)), max: ms(behind.totalCount ? behind.maxValue : 0) }
  }
}
