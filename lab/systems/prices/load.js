/**
 * One measurement of prices: processes, warm-up, window, and the check of what was heard.
 *
 *     processes start -> users ask for other assets (warm-up) -> the assets begin -> | window: users, or storms | -> calls, stored events
 *
 * The warm-up has assets of its own: each arm meets those of the window as its service does when it starts.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openWindow, requestSummary } from '../window.js'
import { assetsOf, readTiers, tierOf, usersOf, WARM_UP } from './assets.js'
import { createClient } from './client.js'
import { figuresOf } from './figures.js'
import { SEED, startFleet, TICK_MS } from './fleet.js'
import { checkPrices, historyText } from './history.js'
import { runStorms } from './storm.js'
import { isScheduled, TECHNIQUES } from './techniques.js'

/** as published: twice the interval, but for cold assets */
const LAB_TIERS = 'hot=0.5/1/6,medium=2/4/20,cold=6/12/36'
const GATEWAYS_IN_STORM = 2
const WARM_UP_USERS = 20
/** of the window */
const KILL_AFTER_MS = 1000

/**
 * @param {import('../plan.js').Contention} load
 * @param {Omit<import('../load-process.js').How, 'settings'>} how `rate`: requests/s, 0 = each user after an answer
 */
export async function runPrices (load, { redisUrl, keyPrefix, rate, warmUpSeconds, seconds, signal, onMeasuring, onMeasured }) {
  const { technique, driver, tiers = LAB_TIERS, users = 0, each = 1, hot = 0, medium = 0, cold = 0, lots, expiry = 'soft' } = load
  const isStorm = driver === 'storm'
  const assets = isStorm ? assetsOf().filter((asset) => tierOf(asset) === 'cold') : assetsOf(lots)
  const fleet = await startFleet({
    technique,
    count: isStorm ? GATEWAYS_IN_STORM : 1,
    redisUrl,
    keyPrefix,
    tiers,
    isUncached: load.uncached ?? false,
    fills: isStorm,
    owners: load.kills ? 2 : 1
  })
  try {
    const [dead = null] = load.dead ? fleet.exchanges.slice(-1) : []
    if (dead) await fleet.fail(dead, { hang: true })
    const createdMs = performance.now()
    const client = createClient(fleet.urls)
    await fleet.begin(WARM_UP)
    await useFor(warmUpSeconds, (over) => client.use(
      usersOf({ hot: 0, medium: 0, cold: WARM_UP_USERS }, [...WARM_UP], Math.random), { rate: 0, signal: over }), signal)
    await fleet.begin(assets)
    await onMeasuring()
    const [callsBefore, usageBefore, warmUp] = [await fleet.calls(), await fleet.usage(), client.take()]
    const [sentBefore, window] = [client.counts.sent, openWindow()]
    const people = usersOf({ hot, medium, cold, isMixed: lots !== undefined }, assets, Math.random)
    /** @type {number | null} */
    let killedAt = null
    const kill = load.kills ? setTimeout(() => { killedAt = fleet.killOwner() }, KILL_AFTER_MS) : undefined
    const storms = await Promise.race([fleet.ended, isStorm
      ? runStorms({ client, fleet, assets, users, each, expiry, times: readTiers(tiers).cold, seconds, signal })
      : useFor(seconds, (over) => client.use(people, { rate, signal: over }), signal)])
    clearTimeout(kill)
    const use = window()
    const [usageAfter, callsAfter] = [await fleet.usage(), await fleet.calls()]
    const elapsedMs = performance.now() - createdMs
    await onMeasured()
    const heard = client.take()
    const terms = { seed: SEED, tickMs: TICK_MS, tiers: readTiers(tiers), elapsedMs, storms: storms?.length ?? 0, dead, killedAt }
    const stored = isScheduled(technique) ? await fleet.stored(assets) : null
    const history = { technique, terms, heard: [...warmUp, ...heard], calls: callsAfter, stored, counted: (await fleet.counts()).replies }
    const figures = figuresOf({
      heard,
      terms,
      seconds: use.seconds,
      planned: isStorm ? users * each * Number(storms?.length) : rate > 0 ? rate * seconds : null,
      sent: client.counts.sent - sentBefore,
      users: { hot, medium, cold },
      assets,
      isMixed: lots !== undefined || isStorm,
      calls: { before: callsBefore, after: callsAfter },
      usage: { before: usageBefore, after: usageAfter },
      storms: storms ?? null
    })
    return {
      ...figures,
      ...use,
      history,
      invariants: technique === 'noop' ? [] : checkPrices(history, isExcused(technique))
    }
  } finally {
    await fleet.close()
  }
}

/** What others have built has no version, and no promise about it: what it does wrong is counted. @param {string} technique */
export const isExcused = (technique) => TECHNIQUES.includes(technique) && !isScheduled(technique)

/** @param {number} seconds @param {(over: AbortSignal) => Promise<void>} run until it is over @param {AbortSignal} signal */
async function useFor (seconds, run, signal) {
  const over = new AbortController()
  // each user waits for it
  setMaxListeners(0, over.signal)
  const using = run(over.signal)
  await sleep(seconds * 1000, undefined, { signal }).catch(() => {})
  over.abort()
  await using
}

/** @type {import('../load-process.js').System} */
export const SYSTEM = Object.freeze({
  run: runPrices,
  historyText,
  summaryOf ({ history: _, ...result }) {
    const { cpuMicros: _cpu, loopUse: _use, invariants: _all, ...prices } = result
    const { answered, sent, missing, latencyMs, cpuSeconds: { gateways, exchanges, consumers }, calls } = prices
    const cpuSeconds = gateways + exchanges + (consumers ?? 0)
    return { prices, ...requestSummary(result, { answered, sent, failed: missing, latencyMs, calls, cpuSeconds }) }
  }
})
