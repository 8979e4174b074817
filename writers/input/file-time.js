/**
 * Times of files and pipes: the rules of src/item/event-time.js, and what else people write into files. A column of years, months, times of
 * day or spreadsheet days is a column of integers, too. As milliseconds they would all be in the first three hours of 1970, so no
 * number below 10^7 is a time here (those up to 10^11 look like seconds everywhere). A date and time of 12 digits would be in 1976.
 *
 * The library and the gateway keep the whole range: their callers made the number themselves.
 */
import { readTs } from '../../src/item/index.js'

const LEAST_MS = 1e7
/** Above all dates and times of 12 digits, which end with the year 2099. */
const SURE_MS = 21e10
const DAY_MS = 86_400_000
/** 1970-01-01 as a day of a spreadsheet */
const SPREADSHEET_1970 = 25_569
const OTHERS = 'a year, a month, a time of day or a spreadsheet day'

/** What digits may be, and the same as ISO 8601. @type {readonly [RegExp, name: string, iso: (parts: string[]) => string][]} */
const FORMATS = [
  [/^((?:19|20)\d\d)$/, 'a year', ([year]) => `${year}-01-01`],
  [/^((?:19|20)\d\d)(0[1-9]|1[0-2])$/, 'a month', ([year, month]) => `${year}-${month}-01`],
  [/^([2-7]\d{4}(?:\.\d{1,20})?)$/, 'a spreadsheet day', ([days]) => isoOf((Number(days) - SPREADSHEET_1970) * DAY_MS)],
  [/^([01]\d|2[0-3]|\d)([0-5]\d)([0-5]\d)$/, 'a time of day',
    ([hours, minutes, seconds]) => `YYYY-MM-DDT${hours.padStart(2, '0')}:${minutes}:${seconds}`],
  [/^((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])([0-5]\d)([0-5]\d)?$/, 'a date and time',
    ([year, month, day, hours, minutes, seconds]) => `${year}-${month}-${day}T${hours}:${minutes}${seconds ? `:${seconds}` : ''}`]
]

/** @param {number} ms @returns {string} a date, or with a time of day to the second */
const isoOf = (ms) => new Date(Math.round(ms / 1000) * 1000).toISOString().slice(0, ms % DAY_MS === 0 ? 10 : 19)

/**
 * @param {unknown} given a number or text
 * @returns {number | string} milliseconds since 1970, or what is wrong and how to fix it
 */
export function readFileTs (given) {
  const ts = readTs(given)
  if (typeof ts === 'number' && ts >= SURE_MS) return ts
  const digits = typeof given === 'number' ? String(given) : given
  if (typeof digits !== 'string' || !/^\d+(\.\d+)?$/.test(digits)) return ts
  for (const [pattern, name, iso] of FORMATS) {
    const match = pattern.exec(digits)
    if (match) return `${JSON.stringify(given)} looks like ${name}; write it as ${iso(match.slice(1))}`
  }
  if (typeof ts === 'string' || ts >= LEAST_MS) return ts
  return `${JSON.stringify(given)} would be ${new Date(ts).toISOString()}; expected milliseconds since 1970, from 1973 on, or ISO 8601, ` +
    `not ${OTHERS}`
}
