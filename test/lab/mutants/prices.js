/** Prices in memory, right or wrong, each in one way, so that the checker can be checked. */
import { readTiers, tierOf } from '../../../lab/systems/prices/assets.js'
import { fetchPrice, NO_PRICE, replyOf } from '../../../lab/systems/prices/sources.js'

/** @typedef {import('../../../lab/systems/prices/techniques.js').Price} Price */
/** @typedef {import('../../../lab/systems/prices/sources.js').Sources} Sources */

/** what each does wrong: lab/systems/prices/history.js must find it */
export const MUTANTS = Object.freeze(['null-cached', 'backwards', 'no-hard-expiry', 'zero-on-failure'])

/**
 * @param {string} technique
 * @param {{ sources: Sources, tiers: string, now?: () => number }} place `now`: ms since 1970
 * @returns {import('../../../lab/systems/prices/techniques.js').Technique}
 */
export function openMutant (technique, { sources, tiers: text, now = Date.now }) {
  const tiers = readTiers(text)
  /** @type {Map<string, { price: Price, before: Price | null, isTurn: boolean }>} */
  const kept = new Map()

  /** @param {string} asset @returns {Price} as after a failure that is taken for a value */
  const wrong = (asset) => ({
    asset, price: technique === 'null-cached' ? null : '0', updatedAt: now(), tier: tierOf(asset), seq: now(), sources: []
  })

  return {
    async begin () {},

    async price (asset) {
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

    async close () { sources.close() }
  }
}
