/**
 * The range of axes, and the position of values on them: set here, so that names can be placed beside points.
 */

/** ratio of the largest to the smallest value above which a line chart is logarithmic */
const LOGARITHMIC_FROM = 20
/** share of the axis left free on either side of the first and the last level */
const MARGIN = 0.06
const STEPS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]

/** @typedef {import('./draw.js').Row} Row */
/** @typedef {{ type: 'linear' | 'log', domain: [number, number], nice: false }} VegaScale */
/**
 * @typedef {{ scale: VegaScale, ticks: number[] | null, place: (value: number) => number }} Scale ticks: null = Vega's
 *   own; place: pixels from the left or the top
 */

/**
 * @param {Row[]} rows
 * @returns {number} the next round number above all values
 */
export function ceilingOf (rows) {
  const most = Math.max(0, ...rows.flatMap(({ mid, high, published }) => [mid ?? 0, high ?? 0, published ?? 0]))
  if (most === 0) return 1
  const power = 10 ** Math.floor(Math.log10(most))
  return /** @type {number} */ (STEPS.find((step) => step * power >= most)) * power
}

/**
 * Bottom to top: from zero, unless the values are so far apart that the small ones would be on the axis.
 * @param {Row[]} rows
 * @param {number} height
 * @returns {Scale}
 */
export function verticalScale (rows, height) {
  const inQuestion = rows.filter(({ role, mid }) => role !== 'ceiling' && mid !== null).map(({ mid }) => Number(mid))
  const all = rows.flatMap(({ mid, low, published }) => [mid, low, published]).filter((value) => value !== null)
  const isLog = all.every((value) => value > 0) && Math.max(...inQuestion) / Math.min(...inQuestion) > LOGARITHMIC_FROM
  const scale = scaleOf(isLog, [isLog ? floorOf(Math.min(...all)) : 0, ceilingOf(rows)])
  return { scale, ticks: isLog ? decades(scale.domain) : null, place: (value) => height * (1 - shareOf(scale, value)) }
}

/** Left to right. @param {Row[]} rows @param {number} width @returns {Scale} */
export function horizontalScale (rows, width) {
  const places = rows.map(({ x }) => Number(x))
  const [least, most] = [Math.min(...places), Math.max(...places)]
  const scale = least > 0 && most / least > LOGARITHMIC_FROM
    ? scaleOf(true, [least / (most / least) ** MARGIN, most * (most / least) ** MARGIN])
    : linear(least, most)
  return { scale, ticks: [...new Set(places)].sort((a, b) => a - b), place: (value) => width * shareOf(scale, value) }
}

/** @param {number} least @param {number} most @returns {VegaScale} */
function linear (least, most) {
  const fromZero = least >= 0 && least < most / 2
  const span = (most - (fromZero ? 0 : least)) || Math.max(1, Math.abs(most))
  return scaleOf(false, [fromZero ? 0 : least - span * MARGIN, most + span * MARGIN])
}

/** @param {boolean} isLog @param {[number, number]} domain @returns {VegaScale} */
const scaleOf = (isLog, domain) => ({ type: isLog ? 'log' : 'linear', domain, nice: false })

/** @param {number} least */
function floorOf (least) {
  const power = 10 ** Math.floor(Math.log10(least))
  return Math.max(...STEPS.filter((step) => step * power <= least), 1) * power
}

/** Ones, twos and fives; over many decades only ones. @param {[number, number]} domain */
function decades ([from, to]) {
  const first = Math.floor(Math.log10(from))
  const count = Math.ceil(Math.log10(to)) - first
  const digits = count > 3 ? [1] : [1, 2, 5]
  return Array.from({ length: count + 1 }, (_, i) => first + i).flatMap((power) => digits.map((digit) => Number(`${digit}e${power}`)))
    .filter((value) => value >= from && value <= to)
}

/** @param {VegaScale} scale @param {number} value @returns {number} 0 at its start, 1 at its end */
function shareOf ({ type, domain: [from, to] }, value) {
  return type === 'log' ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from)
}
