/**
 * Assets of the lab, and who asks for which. The name of an asset begins with its tier.
 *
 * @typedef {'hot' | 'medium' | 'cold'} Tier
 * @typedef {{ refreshMs: number, softMs: number, hardMs: number }} Times
 * @typedef {Record<Tier, Times>} Tiers
 */
import { fewAtOnce } from '../pace.js'
import { zipfPicker } from '../zipf.js'

export const TIERS = Object.freeze(/** @type {Tier[]} */ (['hot', 'medium', 'cold']))
/** before the load begins; all at once would be a storm already */
const AT_ONCE = 50
const COUNTS = Object.freeze({ hot: 10, medium: 100, cold: 800 })
/** requests of a thread in the published tests: its share when requests come at a rate */
const LOOPS = Object.freeze({ hot: 10, medium: 8, cold: 6 })
/** asked for during the warm-up only, so that the others are as they are when a service starts */
export const WARM_UP = Object.freeze(Array.from({ length: 20 }, (_, n) => `cold-warm-up-${n}`))

/** @param {string} asset @returns {Tier} */
export const tierOf = (asset) => /** @type {Tier} */ (asset.slice(0, asset.indexOf('-')))

/** @param {number} [symbols] of a mix by Zipf's law, the most wanted first @returns {string[]} */
export function assetsOf (symbols) {
  const counts = symbols ? { ...COUNTS, cold: symbols - COUNTS.hot - COUNTS.medium } : COUNTS
  return TIERS.flatMap((tier) => Array.from({ length: counts[tier] }, (_, n) => `${tier}-${n}`))
}

/** @param {readonly string[]} assets @param {(asset: string) => Promise<unknown>} run */
export const eachOf = (assets, run) => fewAtOnce(assets, AT_ONCE, run)

/**
 * As the setting `tiers`, but in any order: prices may expire before they are refreshed.
 * @param {string} text such as hot=0.5/1/6,medium=2/4/20,cold=6/12/36: seconds of refresh, soft and hard expiry
 * @returns {Tiers}
 */
export const readTiers = (text) => /** @type {Tiers} */ (Object.fromEntries(text.split(',').map((one) => {
  const [, tier, ...seconds] = /^(\w+)=([\d.]+)\/([\d.]+)\/([\d.]+)$/.exec(one) ?? []
  const [refreshMs, softMs, hardMs] = seconds.map((given) => 1000 * Number(given))
  return [tier, { refreshMs, softMs, hardMs }]
})))

/** @param {string} text of readTiers @returns {string} for rule `latest` */
export function ruleTiers (text) {
  const tiers = readTiers(text)
  return TIERS.map((tier) => [tiers[tier].refreshMs, tiers[tier].softMs, tiers[tier].hardMs].join(' ')).join(' ')
}

/**
 * Users: each has a connection, and asks for assets of one tier, or of all by Zipf's law.
 * @param {{ hot: number, medium: number, cold: number, isMixed?: boolean }} load users of each tier @param {string[]} assets
 * @param {() => number} random
 * @returns {{ tier: Tier, share: number, pick: () => string }[]} `share` of the requests that come at a rate
 */
export function usersOf (load, assets, random) {
  const sum = TIERS.reduce((total, tier) => total + load[tier] * LOOPS[tier], 0)
  const pickAny = load.isMixed ? zipfPicker(assets, random) : null
  return TIERS.flatMap((tier) => {
    const own = assets.filter((asset) => tierOf(asset) === tier)
    const pick = pickAny ?? (() => own[Math.floor(random() * own.length)])
    return Array.from({ length: load[tier] }, () => ({ tier, share: LOOPS[tier] / sum, pick }))
  })
}
