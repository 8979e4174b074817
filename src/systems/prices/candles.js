/**
 * Open-high-low-close by step.
 *
 * @typedef {{ at: number, open: string, high: string, low: string, close: string, points: number }} Candle `at`: its beginning, ms
 *   since 1970; prices are decimal text, as they were stored
 */

/**
 * Steps begin at multiples of `stepMs`. A step without a point has no candle.
 * @param {Iterable<{ at: number, price: string }>} points in order of time
 * @param {{ from: number, to: number, stepMs: number }} range ms since 1970, both included
 * @returns {Candle[]}
 */
export function candles (points, { from, to, stepMs }) {
  /** @type {Candle[]} */
  const all = []
  for (const { at, price } of points) {
    if (at < from || at > to) continue
    const begin = Math.floor(at / stepMs) * stepMs
    const last = all.at(-1)
    if (last?.at !== begin) {
      all.push({ at: begin, open: price, high: price, low: price, close: price, points: 1 })
      continue
    }
    if (isLess(last.high, price)) last.high = price
    if (isLess(price, last.low)) last.low = price
    last.close = price
    last.points++
  }
  return all
}

/**
 * Compares exactly: numbers of JavaScript have 15 digits.
 * @param {string} one @param {string} other decimal text, not negative
 */
function isLess (one, other) {
  const [[whole, part = ''], [otherWhole, otherPart = '']] = [one.split('.'), other.split('.')]
  const [a, b] = [BigInt(whole), BigInt(otherWhole)]
  if (a !== b) return a < b
  const digits = Math.max(part.length, otherPart.length)
  return part.padEnd(digits, '0') < otherPart.padEnd(digits, '0')
}
