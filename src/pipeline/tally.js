/**
 * What one writing process did, in a form that can be sent to its parent and added up, and the one JSON line that a run
 * of several ends with: the same of writers and of the loads of the lab.
 *
 * @typedef {import('./account.js').Account} Account
 * @typedef {{ account: Account, since: Account, seconds: number, cpuMicros: number, loopUse: number, behind: string,
 *   flush: string }} Tally
 *   `account` of the whole run; `since`: as it was when measuring began, and all else is from then on; `cpuMicros` of the
 *   process; `loopUse`: which share of the time its event loop was busy, 0 to 1; `behind`, `flush`: encoded histograms of
 *   tenths of a millisecond
 * @typedef {{ p50: number, p95: number, p99: number, max: number }} Percentiles ms
 */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from 'hdr-histogram-js'
import { accountSince, addAccounts, newAccount, refusedOf } from './account.js'

const TENTHS = 10
const DAY_IN_TENTHS = 24 * 3600 * 1000 * TENTHS

/** 3 digits, up to a day. */
const newHistogram = () => build({ lowestDiscernibleValue: 1, highestTrackableValue: DAY_IN_TENTHS, numberOfSignificantValueDigits: 3 })

/** How late flushes began, or how long they took. */
export function createTimes () {
  const histogram = newHistogram()
  return {
    /** @param {number} ms */
    record: (ms) => histogram.recordValue(Math.min(DAY_IN_TENTHS, Math.round(ms * TENTHS))),
    encode: () => encodeIntoCompressedBase64(histogram)
  }
}

/** @returns {Tally} of a process that has done nothing yet */
export const nothing = () => ({ account: newAccount(), since: newAccount(), seconds: 0, cpuMicros: 0, loopUse: 0, behind: createTimes().encode(), flush: createTimes().encode() })

/**
 * What was measured, of all of them.
 * @param {Tally[]} tallies of one run
 * @returns {{ account: Account, seconds: number, cpuMicros: number, loopUse: number, behindMs: Percentiles, flushMs: Percentiles }}
 *   `loopUse` of the one with the largest
 */
export function addUp (tallies) {
  return {
    account: addAccounts(tallies.map(({ account, since }) => accountSince(account, since))),
    seconds: Math.max(0, ...tallies.map(({ seconds }) => seconds)),
    cpuMicros: tallies.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
    loopUse: Math.max(0, ...tallies.map(({ loopUse }) => loopUse)),
    behindMs: percentilesOf(tallies.map(({ behind }) => behind)),
    flushMs: percentilesOf(tallies.map(({ flush }) => flush))
  }
}

/** @param {string[]} encoded histograms @returns {Percentiles} of all of them together; 0 where nothing was recorded */
function percentilesOf (encoded) {
  const all = newHistogram()
  for (const one of encoded) all.add(decodeFromCompressedBase64(one))
  const ms = (/** @type {number} */ tenths) => Math.round(tenths) / TENTHS
  const percentile = (/** @type {number} */ percent) => ms(all.getValueAtPercentile(percent))
  return { p50: percentile(50), p95: percentile(95), p99: percentile(99), max: ms(all.totalCount ? all.maxValue : 0) }
}

/**
 * The line, but for `nodes`: what servers spent is found out by whoever prints it.
 * @template {'writer' | 'load'} Role
 * @param {{ role: Role, settings: { feed: string, layout: string, writers: number }, engine: string | null, tallies: Tally[] }} run
 */
export function summaryLine ({ role, settings, engine, tallies }) {
  const { account, seconds, cpuMicros, loopUse, behindMs, flushMs } = addUp(tallies)
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
    itemsPerSecond: seconds > 0 ? Math.round(account.items / seconds) : 0,
    batches: account.batches,
    behindMs,
    flushMs,
    refusedBy: account.refused,
    writerCpuMicrosPerItem: perItem(cpuMicros, account.items),
    loopUse: Math.round(loopUse * 100) / 100
  }
}

/** @param {number} micros @param {number} items @returns {number | null} null = there were none */
export const perItem = (micros, items) => items > 0 ? Math.round(micros * 100 / items) / 100 : null
