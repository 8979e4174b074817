/**
 * Storms: all prices reach their expiry at the same moment, and all users ask at once.
 *
 *     expiry `soft`   each interval of cold assets, just after its timers: those past their time to live are gone, or stale
 *     expiry `hard`   when no price is left that may be served
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fewAtOnce, numbersTo } from '../pace.js'

/** after the moment of expiry */
const AFTER_MS = 30
const AT_ONCE = 200
/** who ask for an asset */
const PEOPLE = 3

/**
 * @typedef {{ ms: number, planned: number, fetches: number, calls: number[] }} Storm `ms`: until every request has its reply; `fetches`
 *   begun; `calls` that reached the sources, for each asset
 */

/**
 * @param {{ client: import('./client.js').Client, fleet: import('./fleet.js').Fleet, assets: string[], users: number,
 *   each: number, expiry: string, times: import('./assets.js').Times, seconds: number, signal: AbortSignal }} parts `each`: requests of a
 *   user, one after the other; `times` of cold assets
 * @returns {Promise<Storm[]>} at least one
 */
export async function runStorms ({ client, fleet, assets, users, each, expiry, times, seconds, signal }) {
  const beganMs = performance.now()
  const lines = await fewAtOnce(numbersTo(users), AT_ONCE, client.connect)
  // those who ask for the same one are at different gateways, in turn
  const assetOf = (/** @type {number} */ n) => assets[Math.floor(n / PEOPLE) % assets.length]
  /** @type {Storm[]} */
  const storms = []
  for (const untilMs = beganMs + seconds * 1000; storms.length === 0 || (performance.now() < untilMs && !signal.aborted);) {
    await sleep(expiry === 'hard' ? times.hardMs + AFTER_MS : leftOf(performance.now() - beganMs, times.refreshMs))
    const [before, countsBefore] = [await fleet.calls(), await fleet.counts()]
    const askedMs = performance.now()
    await Promise.all(lines.map(async ({ ask }, user) => {
      for (let n = 0; n < each; n++) await ask(assetOf(n * users + user))
    }))
    const ms = performance.now() - askedMs
    const [after, counts] = [await fleet.calls(), await fleet.counts()]
    const callsOf = (/** @type {string} */ asset) => Object.keys(after).reduce((sum, exchange) =>
      sum + (after[exchange][asset] ?? 0) - (before[exchange][asset] ?? 0), 0)
    const calls = assets.map(callsOf)
    // a refresh of the product is one call of each source
    const refreshes = calls.reduce((sum, n) => sum + n, 0) / fleet.exchanges.length
    const fetches = counts.fetches === null ? refreshes : counts.fetches - Number(countsBefore.fetches)
    storms.push({ ms, planned: users * each, fetches, calls })
  }
  for (const { close } of lines) close()
  return storms
}

/** Time until just after the next of the moments that are `everyMs` apart. @param {number} sinceMs @param {number} everyMs */
const leftOf = (sinceMs, everyMs) => Math.ceil((sinceMs + 1) / everyMs) * everyMs + AFTER_MS - sinceMs
