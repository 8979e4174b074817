/** Figures as text. An unknown figure is a dash. */

export const UNKNOWN = '–'

/** @type {[unit: string, ms: number][]} */
const UNITS = [['d', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1000]]

/** @param {number | null} value @param {number} [digits] after the decimal point, at most */
export const numberText = (value, digits = 0) => value === null ? UNKNOWN : value.toLocaleString('en', { maximumFractionDigits: digits })

/** @param {number | null} value items a second; small ones with one decimal */
export const rateText = (value) => numberText(value, value !== null && value < 100 ? 1 : 0)

/** @param {number} ms 0 or more */
export function spanText (ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`
  return `${numberText(Math.floor(ms / 86_400_000))} d`
}

/**
 * @param {number | null} ts ms since 1970; may be ahead of `now` @param {number} now by the same clock
 * @param {string} [word] after an age
 */
export function ageText (ts, now, word = '') {
  if (ts === null) return UNKNOWN
  return ts > now + 1000 ? `in ${spanText(ts - now)}` : spanText(Math.max(0, now - ts)) + word
}

/** @param {number} ms since 1970 @returns {string} local time of day */
export const clockText = (ms) => new Date(ms).toTimeString().slice(0, 8)

/** @param {number} windowMs */
export function windowText (windowMs) {
  if (windowMs === 0) return 'no age limit'
  for (const [unit, size] of UNITS) {
    if (windowMs % size === 0 && (windowMs > size || size < 60_000)) return `window ${numberText(windowMs / size)} ${unit}`
  }
  return `window ${numberText(windowMs)} ms`
}
