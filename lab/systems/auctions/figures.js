/** Figures of the window of a load of bids. */
import { percentilesOf } from '../../analysis/percentiles.js'

/** @typedef {import('./history.js').Bid} Bid */

/** in which nothing was decided */
const UNDECIDED = ['unknown', 'conflict']

/** @typedef {{ calls: number, attempts: number, gatewayCpuMicros?: number }} Counts */

/** @param {Bid[]} bids of the window @param {Counts} before @param {Counts} after */
export function figuresOf (bids, before, after) {
  /** @type {Record<string, number[]>} */
  const byCode = {}
  for (const { code, sent, answered } of bids) (byCode[code] ??= []).push(answered - sent)
  const decided = bids.filter(({ code }) => !UNDECIDED.includes(code))
  const accepted = bids.filter(({ code, isReplay }) => code === 'accepted' && !isReplay).length
  const attempts = after.attempts - before.attempts
  return {
    items: decided.length,
    accepted,
    failed: bids.length - decided.length,
    calls: after.calls - before.calls,
    attemptsPerAccepted: attempts > 0 && accepted > 0 ? attempts / accepted : null,
    latencyMs: percentilesOf(decided.map(({ sent, answered }) => answered - sent)),
    latencyMsByCode: Object.fromEntries(Object.entries(byCode).map(([code, values]) =>
      [code, { n: values.length, ...percentilesOf(values) }])),
    gatewayCpuSeconds: ((after.gatewayCpuMicros ?? 0) - (before.gatewayCpuMicros ?? 0)) / 1e6
  }
}
