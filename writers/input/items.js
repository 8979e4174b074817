/**
 * Extracts id, ts and value of a record. The pipeline checks sizes and ranges.
 */
import { readTs } from '../../src/item/index.js'

const MAX_SHOWN = 40
const MAX_NAMES = 10

/** @typedef {{ id: string, ts: number | null, value: Buffer }} Item `ts`: null = the record has none */
/** @typedef {{ code: string, reason: string }} Refusal */

/**
 * A field is an own property: first a key equal to the whole path, then key by key.
 * @param {object} fields dotted paths
 * @param {string} fields.idField a string, number or boolean; unsafe integers are refused
 * @param {string} fields.tsField a time by the rules of items.js; with `replay`, where only distances count, of item/event-time.js
 * @param {string | null} fields.valueField null = the whole record. A string is stored as UTF-8, any other value as JSON text
 * @param {number | null} [fields.replay] a record without a time is refused
 * @returns {(entry: import('./records.js').Entry) => Item | Refusal} the value may share memory with the chunk of the entry
 */
export function createItemReader ({ idField, tsField, valueField, replay = null }) {
  const findId = createLookup(idField)
  const findTs = createLookup(tsField)
  const read = replay === null ? readFileTs : readTs
  const findValue = valueField === null ? null : createLookup(valueField)
  const shownId = `id field ${idField}`
  const shownTs = `time field ${tsField}`
  const shownValue = `value field ${valueField}`

  return ({ record, text, fault }) => {
    if (fault !== null) return refused('INPUT_INVALID', fault)
    const id = readId(findId(record))
    if (id === null) {
      const received = findId(record)
      if (received === undefined) return refused('ITEM_ID_INVALID', `${shownId} is missing; ${advice(record, '--id-field')}`)
      return refusal('ITEM_ID_INVALID', shownId, received, 'text, a number within the safe integers, or true or false')
    }
    const receivedTs = findTs(record)
    const ts = receivedTs === undefined ? null : read(receivedTs)
    if (typeof ts === 'string') return refused('ITEM_TS_INVALID', `${shownTs}: ${ts}`)
    if (ts === null && replay !== null) {
      return refused('ITEM_TS_INVALID', `${shownTs} is missing; name the field of the time with --ts-field, or omit --replay`)
    }
    if (findValue === null) return { id, ts, value: /** @type {Buffer} */ (text) }
    const value = readValue(findValue(record))
    if (value === null) {
      const received = findValue(record)
      if (received === undefined) return refused('ITEM_VALUE_INVALID', `${shownValue} is missing; ${advice(record, '--value-field')}`)
      return refusal('ITEM_VALUE_INVALID', shownValue, received, 'well-formed text, or JSON with less nesting')
    }
    return { id, ts, value }
  }
}

/** @param {any} record @param {string} flag that names the field */
function advice (record, flag) {
  const names = Object.keys(record ?? {}).map((name) => name.length > MAX_SHOWN ? name.slice(0, MAX_SHOWN) + '...' : name)
    .map((name) => /\s/.test(name) ? JSON.stringify(name) : name)
  if (names.length === 0) return 'the record has no fields'
  return `${flag} names it, one of ${names.slice(0, MAX_NAMES).join(', ')}${names.length > MAX_NAMES ? ', ...' : ''}`
}

/** @param {string} path @returns {(record: any) => any} undefined if missing */
function createLookup (path) {
  const keys = path.split('.')
  return (record) => {
    if (Object.hasOwn(record, path)) return record[path]
    let at = record
    for (const key of keys) {
      if (typeof at !== 'object' || at === null || Array.isArray(at) || !Object.hasOwn(at, key)) return undefined
      at = at[key]
    }
    return at
  }
}

/** @param {any} value @returns {string | null} */
function readId (value) {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number' || !Number.isFinite(value)) return null
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? null : String(value)
}

/** @param {any} value @returns {Buffer | null} */
function readValue (value) {
  if (value === undefined) return null
  if (typeof value === 'string') return value.isWellFormed() ? Buffer.from(value) : null
  try {
    return Buffer.from(JSON.stringify(value))
  } catch {
    return null // RangeError: JSON.stringify is recursive
  }
}

/** @param {string} code @param {string} reason @returns {Refusal} */
const refused = (code, reason) => ({ code, reason })

/** @param {string} code @param {string} field @param {any} received @param {string} expected */
const refusal = (code, field, received, expected) =>
  refused(code, `${field} is ${shown(received)}; expected ${expected}`)

/** @param {any} value */
function shown (value) {
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.length > MAX_SHOWN ? value.slice(0, MAX_SHOWN) + '...' : value)
}

/**
 * Times of files and pipes: the rules of src/item/event-time.js, and what else people write into files. A column of years, months, times of
 * day or spreadsheet days is a column of integers, too. As milliseconds they would all be in the first three hours of 1970, so no
 * number below 10^7 is a time here (those up to 10^11 look like seconds everywhere). A date and time of 12 digits would be in 1976.
 *
 * The library and the gateway keep the whole range: their callers made the number themselves.
 */

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
 * @param {unknown} value a number or text
 * @returns {number | string} milliseconds since 1970, or what is wrong and how to fix it
 */
function readFileTs (value) {
  const ts = readTs(value)
  if (typeof ts === 'number' && ts >= SURE_MS) return ts
  const digits = typeof value === 'number' ? String(value) : value
  if (typeof digits !== 'string' || !/^\d+(\.\d+)?$/.test(digits)) return ts
  for (const [pattern, name, iso] of FORMATS) {
    const match = pattern.exec(digits)
    if (match) return `${JSON.stringify(value)} looks like ${name}; write it as ${iso(match.slice(1))}`
  }
  if (typeof ts === 'string' || ts >= LEAST_MS) return ts
  return `${JSON.stringify(value)} would be ${new Date(ts).toISOString()}; expected milliseconds since 1970, from 1973 on, or ISO 8601, ` +
    `not ${OTHERS}`
}
