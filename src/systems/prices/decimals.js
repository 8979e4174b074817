/**
 * Exact decimals: an integer and a power of ten. Prices of coins reach from 10^-18 to 10^6 and beyond, so no fixed number of decimals keeps
 * the significant digits of all of them, and numbers of JavaScript keep 15.
 *
 * Nothing is cut off except by `meanOf`, whose result may have no end. Exponents of texts have three digits at most: a few characters must
 * not become a million digits.
 *
 * @typedef {{ digits: bigint, exponent: number }} Decimal digits * 10^exponent
 */

const DECIMAL = /^(-?\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i
/** A mean has at least so many significant digits, and at least so many decimals. */
const MIN_DIGITS = 18
const MIN_PLACES = 8

/** @param {string} text such as 0.000000019 or 1.9e-8 @returns {Decimal | null} null: no decimal number */
export function decimalOf (text) {
  const match = DECIMAL.exec(text)
  if (!match) return null
  const [, whole, part = '', exponent = '0'] = match
  return { digits: BigInt(whole + part), exponent: Number(exponent) - part.length }
}

/** @param {Decimal} decimal at least 0 @returns {string} without an exponent, and without zeros at the end */
export function textOf ({ digits, exponent }) {
  if (exponent >= 0) return String(digits * tenTo(exponent))
  const text = String(digits).padStart(1 - exponent, '0')
  const part = text.slice(exponent).replace(/0+$/, '')
  return text.slice(0, exponent) + (part && `.${part}`)
}

/** @param {Decimal} one @param {Decimal} other @returns {number} below 0, 0, or above 0: how one compares with the other */
export const compare = (one, other) => signOf(difference(one, other))

/**
 * @param {Decimal} one @param {Decimal} other above 0 @param {Decimal} percent
 * @returns {number} below 0, 0, or above 0: how their distance compares with so many percent of the other
 */
export function compareDistance (one, other, percent) {
  const { digits, exponent } = difference(one, other)
  const hundredfold = { digits: (digits < 0n ? -digits : digits) * 100n, exponent }
  return compare(hundredfold, { digits: other.digits * percent.digits, exponent: other.exponent + percent.exponent })
}

/** The exact mean of two. @param {Decimal} one @param {Decimal} other @returns {Decimal} */
export function middleOf (one, other) {
  const { integers: [a, b], exponent } = aligned([one, other])
  return { digits: (a + b) * 5n, exponent: exponent - 1 }
}

/**
 * The mean, cut off after 18 significant digits, or after as many decimals as any of the values has, if that is more. So it is never below
 * the least value.
 * @param {Decimal[]} values above 0 @param {Decimal[]} weights one of each, not all 0 @returns {Decimal}
 */
export function meanOf (values, weights) {
  const { integers, exponent: least } = aligned(values)
  const { integers: shares } = aligned(weights)
  const total = shares.reduce((sum, one) => sum + one, 0n)
  const weighted = integers.reduce((sum, one, i) => sum + one * shares[i], 0n)
  const length = String(weighted / total).length
  const exponent = Math.min(least, least + length - MIN_DIGITS, -MIN_PLACES)
  return { digits: weighted * tenTo(least - exponent) / total, exponent }
}

/** @param {number} exponent at least 0 */
const tenTo = (exponent) => 10n ** BigInt(exponent)

/** @param {Decimal} decimal */
const signOf = ({ digits }) => digits > 0n ? 1 : digits < 0n ? -1 : 0

/** @param {Decimal[]} decimals @returns {{ integers: bigint[], exponent: number }} the same, with one exponent */
function aligned (decimals) {
  const exponent = Math.min(...decimals.map((one) => one.exponent))
  return { integers: decimals.map((one) => one.digits * tenTo(one.exponent - exponent)), exponent }
}

/** @param {Decimal} one @param {Decimal} other @returns {Decimal} */
function difference (one, other) {
  const { integers: [a, b], exponent } = aligned([one, other])
  return { digits: a - b, exponent }
}
