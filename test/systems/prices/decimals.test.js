/** Decimals against fractions of integers. */
import fc from 'fast-check'
import t from 'tap'
import { compare, compareDistance, decimalOf, meanOf, middleOf, textOf } from '../../../src/systems/prices/decimals.js'
import { holds } from '../../properties.js'

/** @typedef {{ over: bigint, under: bigint }} Fraction `under` above 0 */

/** A number as clients write it, and its value. */
const anyNumber = fc.record({
  whole: fc.bigInt({ min: 0n, max: 10n ** 20n }),
  part: fc.stringMatching(/^\d{0,24}$/),
  exponent: fc.option(fc.integer({ min: -60, max: 60 })),
  sign: fc.constantFrom('e', 'E')
}).map(({ whole, part, exponent, sign }) => {
  const text = `${whole}${part && `.${part}`}${exponent === null ? '' : sign + exponent}`
  const power = (exponent ?? 0) - part.length
  const digits = BigInt(whole + part)
  /** @type {Fraction} */
  const value = power < 0 ? { over: digits, under: 10n ** BigInt(-power) } : { over: digits * 10n ** BigInt(power), under: 1n }
  return { text, value }
})
const anyAboveZero = anyNumber.filter(({ value }) => value.over > 0n)
const read = (/** @type {string} */ text) => /** @type {import('../../../src/systems/prices/decimals.js').Decimal} */ (decimalOf(text))

/** @param {Fraction} one @param {Fraction} other */
function sign (one, other) {
  const n = one.over * other.under - other.over * one.under
  return n > 0n ? 1 : n < 0n ? -1 : 0
}
/** @param {Fraction} one @param {Fraction} other @returns {Fraction} */
const plus = (one, other) => ({ over: one.over * other.under + other.over * one.under, under: one.under * other.under })
/** @param {Fraction} one @param {Fraction} other @returns {Fraction} */
const times = (one, other) => ({ over: one.over * other.over, under: one.under * other.under })
/** @param {string} text without an exponent @returns {Fraction} */
function plain (text) {
  const [whole, part = ''] = text.split('.')
  return { over: BigInt(whole + part), under: 10n ** BigInt(part.length) }
}

t.test('a text without an exponent has the same value, and no zeros at its end', async (t) => {
  await holds(t, fc.property(anyNumber, ({ text, value }) => {
    const shown = textOf(read(text))
    return /^(0|[1-9]\d*)(\.\d*[1-9])?$/.test(shown) && sign(plain(shown), value) === 0 && compare(read(shown), read(text)) === 0
  }), { runs: 2000 })
  t.equal(textOf(read('0.000000019')), '0.000000019')
  t.equal(textOf(read('1.50e3')), '1500')
  t.equal(textOf(read('0.000e-12')), '0')
  t.equal(textOf(read('12e+2')), '1200')
})

t.test('decimals compare as their values do', async (t) => {
  const compares = fc.property(anyNumber, anyNumber, (a, b) => compare(read(a.text), read(b.text)) === sign(a.value, b.value))
  await holds(t, compares, { runs: 2000 })
  t.equal(compare(read('0.0000000000000000010'), read('1e-18')), 0)
})

t.test('a distance in percent is exact', async (t) => {
  await holds(t, fc.property(anyNumber, anyAboveZero, anyNumber, (one, other, percent) => {
    const [most, less] = sign(one.value, other.value) < 0 ? [other.value, one.value] : [one.value, other.value]
    const distance = plus(most, { over: -less.over, under: less.under })
    const share = times(times(percent.value, other.value), { over: 1n, under: 100n })
    return compareDistance(read(one.text), read(other.text), read(percent.text)) === sign(distance, share)
  }), { runs: 2000 })
})

t.test('the middle of two is exact', async (t) => {
  await holds(t, fc.property(anyNumber, anyNumber, (a, b) => {
    const half = times(plus(a.value, b.value), { over: 1n, under: 2n })
    return sign(plain(textOf(middleOf(read(a.text), read(b.text)))), half) === 0
  }), { runs: 2000 })
})

t.test('a mean has at least 18 significant digits, and is never below the least nor above the greatest value', async (t) => {
  const anyPair = fc.record({ price: anyAboveZero, volume: anyAboveZero })
  await holds(t, fc.property(fc.array(anyPair, { minLength: 1, maxLength: 5 }), (all) => {
    const prices = all.map(({ price }) => price.value)
    const total = all.map(({ volume }) => volume.value).reduce(plus)
    const sum = all.map(({ price, volume }) => times(price.value, volume.value)).reduce(plus)
    const mean = { over: sum.over * total.under, under: sum.under * total.over }
    const shown = plain(textOf(meanOf(all.map(({ price }) => read(price.text)), all.map(({ volume }) => read(volume.text)))))
    const cut = plus(mean, { over: -shown.over, under: shown.under })
    return cut.over >= 0n && sign(times(cut, { over: 10n ** 17n, under: 1n }), mean) < 0 &&
      prices.some((price) => sign(shown, price) >= 0) && prices.some((price) => sign(shown, price) <= 0)
  }), { runs: 1000 })
})

t.test('what is no decimal number is none, and a few characters cannot stand for a million digits', async (t) => {
  for (const text of [
    '', '.', '1.', '.5', '+1', '1e', '1e1.5', '1e1000', '1e-1000', '1e999999999', 'NaN', 'Infinity', '0x10', '1_000', ' 1', '1 ', '１'
  ]) {
    t.equal(decimalOf(text), null, text)
  }
  t.equal(textOf(read('1e999')).length, 1000)
})
