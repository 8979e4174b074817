/** How figures are written for people. What is not known is a dash: the lines about reasons say why. */

export const UNKNOWN = '–'

/** @param {number | null} value @param {number} [digits] behind the point */
export const numberText = (value, digits = 0) => value === null ? UNKNOWN : value.toLocaleString('en', { maximumFractionDigits: digits })

/** @param {number | null} value of items a second; small ones with a digit behind the point */
export const rateText = (value) => numberText(value, value !== null && value < 100 ? 1 : 0)

/** @param {number} ms 0 or more */
export function spanText (ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`
  return `${numberText(Math.floor(ms / 86_400_000))} d`
}

/** @param {number | null} ts @param {number} now both ms since 1970, of the same clock; the time of an item may be ahead @param {string} [word] behind an age */
export const ageText = (ts, now, word = '') => ts === null ? UNKNOWN : ts > now + 1000 ? `in ${spanText(ts - now)}` : spanText(Math.max(0, now - ts)) + word

/** @param {number} ms since 1970 @returns {string} time of day, here */
export const clockText = (ms) => new Date(ms).toTimeString().slice(0, 8)

/** @param {number} windowMs */
export function windowText (windowMs) {
  if (windowMs === 0) return 'no age limit'
  for (const [unit, size] of /** @type {[string, number][]} */ ([['d', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1000]])) {
    if (windowMs % size === 0 && (windowMs > size || size < 60_000)) return `window ${numberText(windowMs / size)} ${unit}`
  }
  return `window ${numberText(windowMs)} ms`
}
