/** Figures as text; null = unknown. */
export const UNKNOWN = '–'

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const tenth = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const clock = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })

/** @param {number | null} n */
export const number = (n) => n === null ? UNKNOWN : (Math.abs(n) < 100 ? tenth : whole).format(n)

/** @param {number | null} share of one core */
export const percent = (share) => share === null ? UNKNOWN : `${(share * 100).toFixed(1)} %`

/** @param {number} ms since 1970 */
export const timeOfDay = (ms) => clock.format(ms)

/** @param {number} ms since 1970 @param {number} nowMs @returns {string} with the date, unless it is today */
export const when = (ms, nowMs) => (day.format(ms) === day.format(nowMs) ? '' : `${day.format(ms)}, `) + clock.format(ms)

/** @param {number | null} ms @returns {string} */
export function duration (ms) {
  if (ms === null) return UNKNOWN
  if (ms < 0) return `in ${duration(-ms)}`
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`
  if (seconds < 36 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${whole.format(seconds / 86_400)} days`
}

/** Tolerates a clock difference of a second. @param {number} ms */
export const ageText = (ms) => duration(ms < 0 && ms > -1000 ? 0 : ms)

const ONES = new Map([[1000, 'second'], [60_000, 'minute'], [3_600_000, 'hour'], [86_400_000, 'day']])

/** A period: `minute`, `5 min`, `90.5 s`. @param {number} ms */
export const period = (ms) => ONES.get(ms) ?? duration(ms).replace('.0 ', ' ')

/** @param {number} n @param {string} singular @param {string} [plural] */
export const counted = (n, singular, plural = `${singular}s`) => `${number(n)} ${n === 1 ? singular : plural}`

/** The beginning of a value. @param {string | Uint8Array} value @param {number} chars @returns {string} */
export function preview (value, chars) {
  if (typeof value === 'string') return value.length > chars ? value.slice(0, chars) + '…' : value
  const shown = [...value.subarray(0, chars / 3)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
  return shown + (value.length * 3 > chars ? ' …' : '')
}

/** @param {number} percent @returns {string} with a sign, unless it is 0.00 */
export const changeText = (percent) => {
  const text = Math.abs(percent).toFixed(2)
  return `${text === '0.00' ? '' : percent > 0 ? '▲ +' : '▼ −'}${text} %`
}
