/**
 * The lines of an order.
 *
 * @typedef {{ sku: string, quantity: number, price: number }} Line minor units
 * @typedef {{ sku: string, quantity: number, price: number | null }} Wanted null: that of the catalogue
 */
import { fields, moneyText } from 'freshet-feed/systems'
import { FreshetError } from './errors.js'

export const MAX_LINES = 100

/**
 * Lines of the same SKU become one.
 * @param {Wanted[]} lines @returns {Wanted[]}
 */
export function mergeLines (lines) {
  /** @type {Map<string, Wanted>} */
  const merged = new Map()
  for (const { sku, quantity, price } of lines) {
    const before = merged.get(sku)
    if (before && before.price !== price) throw invalid(`${sku} with two prices`, 'one price for each SKU')
    merged.set(sku, { sku, quantity: quantity + (before?.quantity ?? 0), price })
  }
  return [...merged.values()]
}

/**
 * @param {Wanted[]} lines @param {(number | null)[]} prices of the catalogue, null: there is no such product
 * @returns {{ lines: Line[], total: number }}
 * @throws {FreshetError} PRODUCT_UNKNOWN, ORDER_PRICE_DIFFERS, FIELD_INVALID
 */
export function pricedLines (lines, prices) {
  const priced = lines.map(({ sku, quantity, price: given }, i) => {
    const price = prices[i]
    if (price === null) throw new FreshetError('PRODUCT_UNKNOWN', `there is no product ${sku}; create it with PUT`, { sku })
    if (given !== null && given !== price) {
      throw new FreshetError('ORDER_PRICE_DIFFERS', `${sku} costs ${moneyText(price)}, not ${moneyText(given)}; order at that price`,
        { sku, price: moneyText(price) })
    }
    return { sku, quantity, price }
  })
  const total = priced.reduce((sum, { quantity, price }) => sum + quantity * price, 0)
  if (!Number.isSafeInteger(total)) throw invalid('a total above 90 trillion', 'a smaller order')
  return { lines: priced, total }
}

/** @param {string} received @param {string} expected */
const invalid = (received, expected) => fields.invalid([{ field: 'lines', received, expected }])
