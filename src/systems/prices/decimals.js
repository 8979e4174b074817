/** Decimal texts as integers, scaled by 10^8. */

const DECIMALS = 8
const DECIMAL = /^(-?)(\d{1,30})(?:\.(\d{1,30}))?$/

/** @param {string} text @returns {bigint | null} null: no decimal number; decimals after the eighth are cut off */
export function scaledOf (text) {
  const match = DECIMAL.exec(text)
  if (!match) return null
  const [, sign, whole, part = ''] = match
  const scaled = BigInt(whole + part.slice(0, DECIMALS).padEnd(DECIMALS, '0'))
  return sign ? -scaled : scaled
}

/** @param {bigint} scaled at least 0 @returns {string} without zeros at the end */
export function textOf (scaled) {
  const digits = String(scaled).padStart(DECIMALS + 1, '0')
  const part = digits.slice(-DECIMALS).replace(/0+$/, '')
  return digits.slice(0, -DECIMALS) + (part && `.${part}`)
}
