/**
 * Extracts id, ts and value of a record. The pipeline checks sizes and ranges.
 */
import { eventTime } from './event-time.js'

const MAX_SHOWN = 40

/**
 * A field is an own property: first a key equal to the whole path, then key by key.
 * @param {object} fields dotted paths
 * @param {string} fields.idField a string, number or boolean; unsafe integers are refused
 * @param {string} fields.tsField integer of epoch milliseconds, or text as in event-time.js
 * @param {string | null} fields.valueField null = the whole record. A string is stored as UTF-8, any other value as JSON text
 * @returns {(entry: import('./records.js').Entry) => { id: string, ts: number, value: Buffer } | string} the item, or why the entry
 *   is refused. The value may share memory with the chunk of the entry
 */
export function createItemReader ({ idField, tsField, valueField }) {
  const findId = createLookup(idField)
  const findTs = createLookup(tsField)
  const findValue = valueField === null ? null : createLookup(valueField)
  const shownId = `id field ${idField}`
  const shownTs = `time field ${tsField}`
  const shownValue = `value field ${valueField}`

  return (entry) => {
    if (entry.fault !== null) return entry.fault
    const id = readId(findId(entry.record))
    if (id === null) return refusal(shownId, findId(entry.record), 'text, a number within the safe integers, or true or false')
    const ts = readTs(findTs(entry.record))
    if (!Number.isSafeInteger(ts)) return refusal(shownTs, findTs(entry.record), 'epoch milliseconds or ISO 8601')
    if (findValue === null) return { id, ts, value: /** @type {Buffer} */ (entry.text) }
    const value = readValue(findValue(entry.record))
    if (value === null) return refusal(shownValue, findValue(entry.record), 'well-formed text, or JSON with less nesting')
    return { id, ts, value }
  }
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

/** @param {any} value @returns {number} NaN if it is not a time */
function readTs (value) {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? eventTime(value) : NaN
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

/** @param {string} field @param {any} received @param {string} expected */
function refusal (field, received, expected) {
  if (received === undefined) return `${field} is missing`
  return `${field} is ${shown(received)}; expected ${expected}`
}

/** @param {any} value */
function shown (value) {
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.length > MAX_SHOWN ? value.slice(0, MAX_SHOWN) + '...' : value)
}
