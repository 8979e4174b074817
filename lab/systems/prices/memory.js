/**
 * Prices in the memory of the gateway: the limit, which replies with constant bytes, and techniques that are wrong, each in one way, so
 * that the checker can be checked.
 */
import { readTiers, tierOf } from './assets.js'
import { fetchPrice, NO_PRICE, replyOf } from './sources.js'

/** what each does wrong: history.js must find it */
export const MUTANTS = Object.freeze(['null-cached', 'backwards', 'no-hard-expiry', 'zero-on-failure'])

/**
 * @param {string} technique
 * @param {{ sources: import('./sources.js').Sources, tiers: string, now?: () => number }} place `now`: ms since 1970
 * @returns {import('./techniques.js').Technique}
 */
export function openMemoryArm (technique, { sources, tiers: text, now = Date.now }) {
  const tiers = readTiers(text)
  /** @type {Map<string, { price: import('./techniques.js').Price, before: import('./techniques.js').Price | null, isTurn: boolean }>} */
  const kept = new Map()

  /** @param {string} asset @returns {import('./techniques.js').Price} as after a failure that is taken for a value */
  const wrong = (asset) => ({
    asset, price: technique === 'null-cached' ? null : '0', updatedAt: now(), tier: tierOf(asset), seq: now(), sources: []
  })

  return {
    async begin () {},

    async price (asset) {
      if (technique === 'noop') {
        return { status: 200, level: 'local', body: `{"asset":"${asset}","price":"1","updatedAt":0,"seq":0,"sources":[]}` }
      }
      const known = kept.get(asset)
      if (known && (technique === 'no-hard-expiry' || now() - known.price.updatedAt < tiers[tierOf(asset)].softMs)) {
        known.isTurn = !known.isTurn
        const goesBack = technique === 'backwards' && known.isTurn
        return replyOf(goesBack ? known.before ?? known.price : known.price, 'local')
      }
      const price = await fetchPrice(sources, asset, now) ?? (['null-cached', 'zero-on-failure'].includes(technique) ? wrong(asset) : null)
      if (price === null) return NO_PRICE
      kept.set(asset, { price, before: known?.price ?? null, isTurn: false })
      return replyOf(price, 'origin')
    },

    fetches: () => sources.fetches,

    async close () { sources.close() }
  }
}
