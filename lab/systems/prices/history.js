/**
 * Checks the replies that clients got against the records of the exchanges, the server and the gateways.
 *
 *     B1  a price is the mean of the ticks that its reply names, to 18 significant digits; each tick is computed again (syntheticTick). The
 *         sources of a degraded price are those of the refresh that failed
 *     B2  version and time of an asset never go back, in replies of one gateway: what was answered before another request was sent
 *     B3  no price that had reached its hard expiry when it was asked for
 *     B4  refreshes of an asset: one for each 0.9 of its interval, one for each failure and each storm, and the first; a call of a
 *         source for each
 *     B5  no price that is 0, negative or no number
 *     B6  calls of a dead source: those until its breaker opens, then one in each reset period
 *     B7  each version that was served is stored, once, with the same price
 *     B8  gateways have counted as many replies of each kind as clients got
 *     B9  when an owner was killed, each asset is refreshed again within its lease and the longest interval
 *
 * @typedef {import('./client.js').Heard} Heard
 * @typedef {import('./client.js').Value} Value
 * @typedef {{ exchange: string, ok: boolean, ts?: number }} Source
 * @typedef {{ seed: number, tickMs: number, tiers: import('./assets.js').Tiers, elapsedMs: number, storms: number,
 *   dead: string | null, killedAt: number | null }} Terms `elapsedMs`: from the creation of the assets until calls were counted;
 *   `dead`: exchange that never replies; `killedAt`: when one of two owners was killed, ms since 1970
 * @typedef {{ technique: string, terms: Terms, heard: Heard[], calls: import('./fleet.js').Calls,
 *   stored: Record<string, import('./techniques.js').Stored> | null, counted: Record<string, number> | null }} History
 *   `stored`, `counted`: null = not known
 * @typedef {import('../invariants.js').Invariant} Invariant
 */
import { LEASE_MS } from '../../../src/consumers/index.js'
import { RESET_MS } from '../../../src/systems/inside.js'
import { syntheticTick, thresholdOf } from '../../../src/systems/prices/index.js'
import { countEach } from '../../analysis/counts.js'
import { result } from '../invariants.js'
import { tierOf } from './assets.js'

/** between two clocks of one machine */
const CLOCK_MS = 20
/** A price is cut off after 18 significant digits at the earliest. */
const PRECISION = 10n ** 17n
/** of an interval, with jitter; the first one is spread, so that assets created together are not refreshed together */
const LONGEST = 1.1
const LONGEST_FIRST = 1.8

/**
 * @param {History} history @param {boolean} isExcused what others have built is not held to B2 and B3: it is counted instead
 * @returns {Invariant[]}
 */
export function checkPrices (history, isExcused) {
  const { heard, stored, counted, terms } = history
  const values = valuesOf(heard)
  return [
    result('B1 a price is the mean of the ticks that it names', values.filter(({ isDegraded }) => !isDegraded)
      .flatMap((value) => meanFaults(value, terms))),
    ...(isExcused
      ? []
      : [result('B2 versions and times never go back', wentBack(heard).map(({ asset, value }) => `${asset}: ${value?.version}`)),
          result('B3 none beyond its hard expiry', beyondHard(heard, terms).map(({ asset, sent, value }) =>
            `${asset} was ${Math.round(sent - Number(value?.updatedAt))} ms old`))]),
    result('B5 every price is above 0', values.filter(({ price }) => !(Number(price) > 0)).map(({ asset, price }) => `${asset}: ${price}`)),
    ...(stored
      ? [result('B4 one refresh for each interval', refreshFaults(history, stored)),
          result('B7 each served version is stored once', storedFaults(values, stored))]
      : []),
    ...(stored && terms.dead ? [result('B6 a dead source is left alone', deadFaults(history, terms.dead))] : []),
    ...(stored && terms.killedAt !== null
      ? [checkRecovery({
          killedAt: terms.killedAt,
          leaseMs: LEASE_MS,
          stored: Object.fromEntries(Object.entries(stored).map(([asset, { prices }]) => [asset, prices.map(({ at }) => at)])),
          intervalOf: (asset) => terms.tiers[tierOf(asset)].refreshMs
        })]
      : []),
    ...(counted ? [result('B8 gateways counted the replies that clients got', countFaults(heard, counted))] : [])
  ]
}

/** @param {Heard[]} heard @returns {Value[]} each once */
const valuesOf = (heard) => [...new Set(heard.flatMap(({ value }) => value ? [value] : []))]

/** @param {string} decimal @param {number} places at least as many as it has @returns {bigint} times 10^places */
function scaled (decimal, places) {
  const [whole, part = ''] = decimal.split('.')
  return BigInt(whole + part.padEnd(places, '0'))
}

const placesOf = (/** @type {string} */ decimal) => decimal.split('.')[1]?.length ?? 0

/** @param {Value} value @param {Terms} terms */
function meanFaults ({ asset, price, sources }, { seed, tickMs }) {
  const ticks = sources.filter(({ ok }) => ok).map(({ exchange, ts }) =>
    syntheticTick({ seed, exchange, symbol: asset, tick: Number(ts) / tickMs, tickMs }))
  if (ticks.length < 2) return [`${asset}: ${ticks.length} sources`]
  const places = Math.max(placesOf(price ?? ''), ...ticks.flatMap((tick) => [placesOf(tick.price), placesOf(tick.volume)]))
  const volume = ticks.reduce((sum, tick) => sum + scaled(tick.volume, places), 0n)
  const weighted = ticks.reduce((sum, tick) => sum + scaled(tick.price, places) * scaled(tick.volume, places), 0n)
  const cut = price === null ? weighted : weighted - scaled(price, places) * volume
  if (cut >= 0n && cut * PRECISION < weighted) return []
  return [`${asset}: ${price} of ticks with the mean ${Number(weighted) / Number(volume) / 10 ** places}`]
}

/**
 * Replies older than one that was answered before they were asked for, by the same gateway.
 * @param {Heard[]} heard @returns {Heard[]}
 */
export function wentBack (heard) {
  /** by gateway and asset @type {Record<string, Heard[]>} */
  const groups = {}
  for (const one of heard) if (one.value) (groups[`${one.gateway} ${one.asset}`] ??= []).push(one)
  return Object.values(groups).flatMap((those) => {
    const byAnswer = those.toSorted((a, b) => a.answered - b.answered)
    let [version, updatedAt, i] = [-Infinity, -Infinity, 0]
    return those.toSorted((a, b) => a.sent - b.sent).filter(({ sent, value }) => {
      for (; i < byAnswer.length && byAnswer[i].answered < sent; i++) {
        const known = /** @type {Value} */ (byAnswer[i].value)
        ;[version, updatedAt] = [Math.max(version, known.version), Math.max(updatedAt, known.updatedAt)]
      }
      return value !== null && (value.version < version || value.updatedAt < updatedAt)
    })
  })
}

/** @param {Heard[]} heard @param {Terms} terms @returns {Heard[]} */
export const beyondHard = (heard, { tiers }) => heard.filter(({ asset, sent, value }) =>
  value !== null && sent - value.updatedAt > tiers[tierOf(asset)].hardMs + CLOCK_MS)

/** @param {History} history @param {Record<string, import('./techniques.js').Stored>} stored */
function refreshFaults ({ calls, terms: { tiers, elapsedMs, storms, killedAt } }, stored) {
  const changes = killedAt === null ? 0 : 1
  return Object.entries(stored).flatMap(([asset, { failed, prices }]) => {
    const due = Math.floor(elapsedMs / (0.9 * tiers[tierOf(asset)].refreshMs)) + failed + storms + changes + 1
    const refreshes = failed + prices.length
    if (refreshes > due) return [`${asset} was refreshed ${refreshes} times, ${due} were due`]
    // one may be running, and one may have ended with its owner
    return Object.entries(calls).filter(([, of]) => (of[asset] ?? 0) > refreshes + changes + 1)
      .map(([exchange, of]) => `${of[asset]} calls of ${exchange} in ${refreshes} refreshes of ${asset}`)
  })
}

/** @param {Value[]} values @param {Record<string, import('./techniques.js').Stored>} stored */
function storedFaults (values, stored) {
  const doubled = Object.entries(stored).filter(([, { prices }]) => new Set(prices.map(({ version }) => version)).size < prices.length)
  /** the versions of failures have the price before @param {Value} value */
  const isStored = ({ asset, version, price, updatedAt }) => {
    const one = stored[asset].prices.findLast((known) => known.version <= version)
    return one?.price === price && one.at === updatedAt
  }
  return [
    ...doubled.map(([asset]) => `${asset} has a version twice`),
    // assets of the warm-up are not read
    ...values.filter((value) => value.asset in stored && !isStored(value))
      .map(({ asset, version, price }) => `${asset} ${version}: ${price} is not stored`)
  ]
}

/** @param {History} history @param {string} dead */
function deadFaults ({ calls, terms: { elapsedMs } }, dead) {
  const sum = Object.values(calls[dead] ?? {}).reduce((total, n) => total + n, 0)
  const due = thresholdOf(Object.keys(calls).length) + Math.floor(elapsedMs / RESET_MS) + 1
  return sum > due ? [`${sum} calls of ${dead}, at most ${due} were due`] : []
}

/** @param {Heard[]} heard @param {Record<string, number>} counted */
function countFaults (heard, counted) {
  const got = countEach(heard.map(({ level }) => level))
  return [...new Set([...Object.keys(got), ...Object.keys(counted)])].filter((level) => got[level] !== counted[level])
    .map((level) => `${level}: ${got[level] ?? 0} heard, ${counted[level] ?? 0} counted`)
}

/**
 * B9: the owner of an asset was killed during a refresh.
 * @param {{ killedAt: number, stored: Record<string, number[]>, leaseMs: number, intervalOf: (asset: string) => number }} of `stored`:
 *   times of the prices of each asset, ms since 1970
 * @returns {Invariant}
 */
export const checkRecovery = ({ killedAt, stored, leaseMs, intervalOf }) =>
  result('B9 a killed owner is replaced', Object.entries(stored).flatMap(([asset, at]) => {
    const tookMs = Math.min(...at.filter((ms) => ms > killedAt)) - killedAt
    const longest = at.filter((ms) => ms <= killedAt).length > 1 ? LONGEST : LONGEST_FIRST
    const mostMs = Math.round(leaseMs + longest * intervalOf(asset))
    return tookMs <= mostMs ? [] : [`${asset}: ${tookMs} ms later, ${mostMs} are allowed`]
  }))

/** @param {History} history @returns {string} JSON, in one line */
export function historyText ({ heard, ...rest }) {
  const values = valuesOf(heard)
  const indexOf = new Map(values.map((value, i) => [value, i]))
  const rows = heard.map(({ user, gateway, asset, due, sent, answered, status, level, value }) =>
    [user, gateway, asset, due, sent, answered, status, level, value ? indexOf.get(value) : -1])
  return JSON.stringify({ kind: 'prices', ...rest, values, rows })
}

/** @param {string} text of historyText @returns {History} */
export function readPrices (text) {
  const { kind: _, values, rows, ...rest } = JSON.parse(text)
  const heard = rows.map((/** @type {any[]} */ [user, gateway, asset, due, sent, answered, status, level, at]) =>
    ({ user, gateway, asset, due, sent, answered, status, level, value: values[at] ?? null }))
  return { ...rest, heard }
}
