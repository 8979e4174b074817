/**
 * The rules for event times, in one place for every way in: the library takes integers, files, pipes and HTTP also text.
 *
 * Accepted: epoch milliseconds, as a number or as digits, and the extended format of ISO 8601. A date is midnight UTC; without an
 * offset a time is UTC; digits after the milliseconds are cut off; a space may replace the T (RFC 3339).
 * Refused: numbers that look like another unit, because they would become times in 1970, and the same times (1970-01-01T02:46:40 to
 * 1973-03-03) as text; week and ordinal dates, the basic format, names of months and zones, 24:00, leap seconds, days that the month
 * does not have. Date.parse accepts many of these.
 */
import { MAX_TS } from './order.js'

export const EXPECTED_TS = 'milliseconds since 1970 below 2^41, or ISO 8601'
const EXPECTED_INTEGER = 'integer milliseconds since 1970, below 2^41'

/** As seconds these are 1970 to 5138; as milliseconds 1970-01-01T02:46 to 1973-03. */
const SECONDS = Object.freeze({ from: 1e7, to: 1e11, name: 'seconds', fix: 'multiply by 1000' })
const UNITS = Object.freeze([
  SECONDS,
  { from: 1e14, to: 1e17, name: 'microseconds', fix: 'divide by 1000 and round' },
  { from: 1e17, to: 1e20, name: 'nanoseconds', fix: 'divide by 1,000,000 and round' }
])
const BASIC_DATE = /^((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/
const MAX_SHOWN_CHARS = 64

const DATE = /^([1-9]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])/
const TIME = /^[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?:(Z)|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/
const DATE_LENGTH = 'YYYY-MM-DD'.length
const MINUTE_MS = 60_000

/** JSON schema of what `readTs` takes. */
export const TS_SCHEMA = Object.freeze({
  anyOf: [
    { type: 'integer', minimum: 0, exclusiveMaximum: SECONDS.from },
    { type: 'integer', minimum: SECONDS.to, maximum: MAX_TS },
    { type: 'string', format: 'event-time', examples: ['2026-01-31T10:00:00.000Z', '1769853600000'] }
  ],
  description: 'event time: milliseconds since 1970, or ISO 8601, UTC without an offset; default: now. Seconds are refused'
})

/** @param {unknown} ts @returns {ts is number} */
export const isTs = (ts) => Number.isInteger(ts) && isInRange(/** @type {number} */ (ts))

/** @param {number} ts */
const isInRange = (ts) => ts >= SECONDS.to ? ts <= MAX_TS : ts >= 0 && ts < SECONDS.from

/**
 * @param {unknown} value a number or text
 * @returns {number | string} milliseconds since 1970, or what is wrong and how to fix it
 */
export function readTs (value) {
  const ts = typeof value === 'string' ? timeOf(value) : value
  return isTs(ts) ? ts : faultOf(value, EXPECTED_TS)
}

/** Where only integers are accepted. @param {unknown} value that is refused @returns {string} what is wrong and how to fix it */
export const faultOfInteger = (value) => faultOf(value, EXPECTED_INTEGER)

/** @param {unknown} value @param {string} expected */
function faultOf (value, expected) {
  const text = shown(value)
  const digits = /^"?(\d+(?:\.\d+)?)"?$/.exec(text)?.[1] ?? ''
  const [, year, month, day] = BASIC_DATE.exec(digits) ?? []
  if (year !== undefined) return `${text} looks like a date; write it as ${year}-${month}-${day}`
  const unit = UNITS.find(({ from, to }) => Number(digits) >= from && Number(digits) < to)
  return unit ? `${text} looks like ${unit.name}; ${unit.fix}` : `${text}; expected ${expected}`
}

/** @param {unknown} value */
function shown (value) {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value)
  return text.length > MAX_SHOWN_CHARS ? text.slice(0, MAX_SHOWN_CHARS) + '...' : text
}

/** @param {string} text @returns {number} epoch milliseconds, or NaN */
function timeOf (text) {
  if (/^\d+$/.test(text)) return Number(text)
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? []
  const midnight = new Date(Date.UTC(year, month - 1, day))
  if (midnight.getUTCDate() !== day) return NaN
  return midnight.getTime() + (text.length === DATE_LENGTH ? 0 : timeOfDay(text.slice(DATE_LENGTH)))
}

/** @param {string} text from the T on @returns {number} milliseconds since midnight UTC, or NaN */
function timeOfDay (text) {
  const match = TIME.exec(text)
  if (match === null) return NaN
  const [, hours, minutes, seconds = '0', fraction = '', , sign, offsetHours, offsetMinutes = '0'] = match
  const millis = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  if (sign === undefined) return millis
  const offsetMs = (Number(offsetHours) * 60 + Number(offsetMinutes)) * MINUTE_MS
  return sign === '+' ? millis - offsetMs : millis + offsetMs
}
