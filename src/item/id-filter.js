/**
 * Which ids a client may see: exact ones, and those with a beginning, such as `bus-*`.
 *
 *     given    bus-*  bus-7  tram-1          kept, by bytes    bus-*  tram-1
 *
 * What a beginning covers is left out. Then the last entry at or before an id decides: whatever lies between a beginning and an id that
 * has it, has it too.
 *
 * @typedef {{ bytes: Buffer, isBeginning: boolean }} Entry
 * @typedef {ReturnType<typeof createIdFilter>} IdFilter
 */
import { readId } from './id.js'

/** of one filter */
const MAX_FILTER_IDS = 1000
const ANY = '*'

export const EXPECTED_IDS = `1-${MAX_FILTER_IDS} ids, or beginnings of ids such as "bus-*"`

/**
 * @param {unknown} list
 * @returns {IdFilter | null | string} null: it permits every id; text: what is wrong with it
 */
export function readIdFilter (list) {
  if (!Array.isArray(list)) return 'not a list'
  if (list.length === 0 || list.length > MAX_FILTER_IDS) return `a list of ${list.length}`
  /** @type {Entry[]} */
  const entries = []
  for (const value of list) {
    const isBeginning = typeof value === 'string' && value.endsWith(ANY)
    const bytes = value === ANY ? Buffer.alloc(0) : readId(isBeginning ? value.slice(0, -1) : value)
    if (typeof bytes === 'string') return bytes
    entries.push({ bytes, isBeginning })
  }
  return entries.some(({ bytes }) => bytes.length === 0) ? null : createIdFilter(entries)
}

/** @param {Entry[]} allEntries */
function createIdFilter (allEntries) {
  const entries = withoutCovered(allEntries)
  const named = entries.filter(({ isBeginning }) => !isBeginning).map(({ bytes }) => bytes)
  const beginnings = entries.filter(({ isBeginning }) => isBeginning).map(({ bytes }) => bytes)
  return Object.freeze({
    /** The same text for the same ids. */
    of: JSON.stringify(entries.map(({ bytes, isBeginning }) => `${bytes}${isBeginning ? ANY : ''}`)),
    named,
    beginnings,
    /** All ids that it permits; null: it has beginnings. */
    exact: beginnings.length === 0 ? named : null,

    /** @param {Uint8Array} bytes @param {number} [at] @param {number} [end] where the id is in them */
    has (bytes, at = 0, end = bytes.length) {
      let low = 0
      for (let high = entries.length; low < high;) {
        const middle = (low + high) >>> 1
        if (compare(entries[middle].bytes, bytes, at, end) <= 0) low = middle + 1
        else high = middle
      }
      if (low === 0) return false
      const { bytes: entryBytes, isBeginning } = entries[low - 1]
      const { length } = entryBytes
      return (length === end - at || (isBeginning && length < end - at)) && compare(entryBytes, bytes, at, at + length) === 0
    }
  })
}

/** @param {Entry[]} entries @returns {Entry[]} by bytes; beginnings come before the same id */
function withoutCovered (entries) {
  const sorted = [...entries].sort((a, b) => Buffer.compare(a.bytes, b.bytes) || Number(b.isBeginning) - Number(a.isBeginning))
  /** @type {Entry[]} */
  const kept = []
  for (const entry of sorted) {
    const last = kept.at(-1)
    const common = last?.isBeginning ? entry.bytes.subarray(0, last.bytes.length) : entry.bytes
    if (!last?.bytes.equals(common)) kept.push(entry)
  }
  return kept
}

/** @param {Buffer} entryBytes @param {Uint8Array} bytes @param {number} at @param {number} end @returns {number} as Buffer.compare */
function compare (entryBytes, bytes, at, end) {
  const length = end - at
  const common = Math.min(entryBytes.length, length)
  for (let i = 0; i < common; i++) if (entryBytes[i] !== bytes[at + i]) return entryBytes[i] - bytes[at + i]
  return entryBytes.length - length
}
