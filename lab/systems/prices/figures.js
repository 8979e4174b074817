/**
 * Figures of the window of a measurement of prices.
 *
 * @typedef {{ mean: number, p50: number, p95: number, p99: number, max: number }} Latency
 * @typedef {{ answered: number, missing?: number, perSecond: number, perUser: number | null, latencyMs: Latency,
 *   callsPerAsset: number }} OfTier `missing`: without a price, absent in older results; `perUser`: answers/s of one user; null: users ask
 *   for all tiers
 * @typedef {{ seconds: number, planned: number | null, sent: number, answered: number, missing: number, byStatus: Record<string, number>,
 *   byLevel: Record<string, number>, latencyMs: Latency, fetchMs: Latency | null, tiers: Record<string, OfTier>, calls: number,
 *   inTime: number, wentBack: number, beyondHard: number,
 *   cpuSeconds: { gateways: number, consumers: number | null, exchanges: number }, gatewayMemoryBytes: number,
 *   storm: OfStorms | null }} PriceFigures `missing`: without a price; `fetchMs` of replies that waited for the sources; `calls` of all
 *   sources; `inTime`: replies within soft expiry and one refresh
 * @typedef {{ count: number, ms: number, fetchesPerAsset: number, callsPerAsset: number, mostCallsOfAsset: number }} OfStorms medians, but
 *   the most of all
 */
import { countEach } from '../../analysis/counts.js'
import { percentilesOf } from '../../analysis/percentiles.js'
import { TIERS, tierOf } from './assets.js'
import { beyondHard, wentBack } from './history.js'

/** @typedef {import('./client.js').Heard} Heard */
/** @typedef {Awaited<ReturnType<import('./fleet.js').Fleet['usage']>>} Usage */

/**
 * @param {object} window
 * @param {Heard[]} window.heard @param {import('./history.js').Terms} window.terms
 * @param {number} window.seconds @param {number | null} window.planned @param {number} window.sent
 * @param {{ hot: number, medium: number, cold: number }} window.users @param {string[]} window.assets @param {boolean} window.isMixed
 * @param {{ before: import('./fleet.js').Calls, after: import('./fleet.js').Calls }} window.calls
 * @param {{ before: Usage, after: Usage }} window.usage
 * @param {import('./storm.js').Storm[] | null} window.storms
 * @returns {PriceFigures}
 */
export function figuresOf ({ heard, terms, seconds, planned, sent, users, assets, isMixed, calls, usage, storms }) {
  const priced = heard.filter(({ value }) => value)
  const fetched = priced.filter(({ level }) => level === 'origin')
  const callsOf = (/** @type {string[]} */ those) => those.reduce((sum, asset) => sum + Object.keys(calls.after).reduce((n, exchange) =>
    n + (calls.after[exchange][asset] ?? 0) - (calls.before[exchange]?.[asset] ?? 0), 0), 0)
  return {
    seconds,
    planned,
    sent,
    answered: priced.length,
    missing: sent - priced.length,
    byStatus: countEach(heard.map(({ status }) => status)),
    byLevel: countEach(priced.map(({ level }) => level)),
    latencyMs: percentilesOf(priced.map(latencyOf)),
    fetchMs: fetched.length > 0 ? percentilesOf(fetched.map(latencyOf)) : null,
    tiers: Object.fromEntries(TIERS.map((tier) => {
      const all = heard.filter(({ asset }) => tierOf(asset) === tier)
      const those = all.filter(({ value }) => value)
      const own = assets.filter((asset) => tierOf(asset) === tier)
      const perSecond = those.length / seconds
      return [tier, {
        answered: those.length,
        missing: all.length - those.length,
        perSecond,
        perUser: isMixed || users[tier] === 0 ? null : perSecond / users[tier],
        latencyMs: percentilesOf(those.map(latencyOf)),
        callsPerAsset: callsOf(own) / Math.max(1, own.length)
      }]
    })),
    calls: callsOf(assets),
    inTime: priced.filter((one) => isInTime(one, terms)).length,
    wentBack: wentBack(heard).length,
    beyondHard: beyondHard(heard, terms).length,
    cpuSeconds: cpuOf(usage),
    gatewayMemoryBytes: Math.max(...usage.after.gateways.map(({ memoryBytes }) => memoryBytes)),
    storm: storms && stormsOf(storms)
  }
}

/** @param {Heard} heard */
const latencyOf = ({ due, answered }) => answered - due

/** @param {Heard} heard @param {import('./history.js').Terms} terms */
function isInTime ({ asset, sent, value }, { tiers }) {
  const { softMs, refreshMs } = tiers[tierOf(asset)]
  return value !== null && sent - value.updatedAt <= softMs + refreshMs
}

/** @param {{ before: Usage, after: Usage }} usage */
function cpuOf ({ before, after }) {
  const between = (/** @type {'gateways' | 'consumers'} */ of) => [after, before].map((usage) =>
    usage[of].reduce((total, { cpuSeconds }) => total + cpuSeconds, 0)).reduce((a, b) => a - b)
  const isWhole = before.consumers.length === after.consumers.length && after.consumers.length > 0
  return {
    gateways: between('gateways'),
    consumers: isWhole ? between('consumers') : null,
    exchanges: after.exchanges.cpuSeconds - before.exchanges.cpuSeconds
  }
}

/** @param {import('./storm.js').Storm[]} storms @returns {OfStorms} */
function stormsOf (storms) {
  const means = storms.map(({ calls }) => calls.reduce((sum, n) => sum + n, 0) / calls.length)
  return {
    count: storms.length,
    ms: percentilesOf(storms.map(({ ms }) => ms)).p50,
    fetchesPerAsset: percentilesOf(storms.map(({ fetches, calls }) => fetches / calls.length)).p50,
    callsPerAsset: percentilesOf(means).p50,
    mostCallsOfAsset: storms.reduce((most, { calls }) => calls.reduce((a, b) => Math.max(a, b), most), 0)
  }
}
