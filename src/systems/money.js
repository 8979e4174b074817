/** Amounts of money: decimal text with at most two places outside, whole minor units inside, whatever the currency. */
import { field } from '../fields/index.js'

const DECIMAL = /^(\d{1,14})(?:\.(\d{1,2}))?$/
const MAX_MINOR = 9e15
const MONEY = Object.freeze({
  anyOf: [
    { type: 'string', pattern: '^(?!0*(\\.0*)?$)([0-8]\\d{13}|90{13}(?!\\.0?[1-9])|\\d{1,13})(\\.\\d{1,2})?$' },
    { type: 'number', multipleOf: 0.01, minimum: 0.01, maximum: 9e13 }
  ]
})

const EXPECTED = 'a decimal number with at most 2 places, from 0.01 to 90000000000000'

/** @param {unknown} amount text or number @returns {number | null} minor units, null if it is no amount */
function minorUnits (amount) {
  if (typeof amount !== 'string' && typeof amount !== 'number') return null
  const [, whole, places = ''] = DECIMAL.exec(String(amount)) ?? []
  if (whole === undefined) return null
  const minor = Number(whole) * 100 + Number(places.padEnd(2, '0'))
  return minor >= 1 && minor <= MAX_MINOR ? minor : null
}

/** @param {number | string} minor units @returns {string} such as 12.50 */
export function moneyText (minor) {
  const text = String(minor).padStart(3, '0')
  return `${text.slice(0, -2)}.${text.slice(-2)}`
}

/** A field of a command. @type {ReturnType<typeof field>} */
export const moneyField = field(minorUnits, EXPECTED, MONEY)
