/** Figures of the window of a load of bids. */
import { performance } from 'node:perf_hooks'

/** @typedef {import('./history.js').Bid} Bid */

/** in which nothing was decided */
const UNDECIDED = ['unknown', 'conflict']

/** @param {import('./techniques.js').Technique} technique @param {number} bids so far */
export const look = ({ counts }, bids) =>
  ({ gatewayCpuMicros: 0, ...counts, bids, atMs: performance.now(), cpu: process.cpuUsage(), loop: performance.eventLoopUtilization() })

/** @param {Bid[]} bids of the window @param {ReturnType<typeof look>} before @param {ReturnType<typeof look>} after */
export function figuresOf (bids, before, after) {
  const seconds = (after.atMs - before.atMs) / 1000
  /** @type {Record<string, number[]>} */
  const byCode = {}
  for (const { code, sent, answered } of bids) (byCode[code] ??= []).push(answered - sent)
  const decided = bids.filter(({ code }) => !UNDECIDED.includes(code))
  const accepted = bids.filter(({ code, isReplay }) => code === 'accepted' && !isReplay).length
  const attempts = after.attempts - before.attempts
  return {
    seconds,
    items: decided.length,
    accepted,
    failed: bids.length - decided.length,
    calls: after.calls - before.calls,
    attemptsPerAccepted: attempts > 0 && accepted > 0 ? attempts / accepted : null,
    latencyMs: percentilesOf(decided.map(({ sent, answered }) => answered - sent)),
    latencyMsByCode: Object.fromEntries(Object.entries(byCode).map(([code, values]) =>
      [code, { n: values.length, ...percentilesOf(values) }])),
    cpuMicros: after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system,
    gatewayCpuSeconds: (after.gatewayCpuMicros - before.gatewayCpuMicros) / 1e6,
    loopUse: performance.eventLoopUtilization(after.loop, before.loop).utilization
  }
}

/** @param {number[]} values @returns {{ p50: number, p95: number, p99: number, max: number }} */
function percentilesOf (values) {
  const sorted = Float64Array.from(values).sort()
  const at = (/** @type {number} */ share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}
