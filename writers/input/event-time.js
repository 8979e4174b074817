/**
 * Event times in text. Ambiguous text is refused.
 *
 * Accepted: epoch milliseconds, and the extended format of ISO 8601. A date is midnight UTC; without an offset a time is UTC;
 * digits after the milliseconds are cut off; a space may replace the T (RFC 3339).
 * Refused: week and ordinal dates, the basic format, names of months and zones, 24:00, leap seconds, days that the month does not
 * have. Date.parse accepts many of these.
 */

const DATE = /^([1-9]\d{3})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])/
const TIME = /^[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d+))?)?(?:(Z)|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/
const DATE_LENGTH = 'YYYY-MM-DD'.length
const MINUTE_MS = 60_000

/** @param {string} text @returns {number} epoch milliseconds, or NaN */
export function eventTime (text) {
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
