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
  for (const one of list) {
    const isBeginning = typeof one === 'string' && one.endsWith(ANY)
    const bytes = one === ANY ? Buffer.alloc(0) : readId(isBeginning ? one.slice(0, -1) : one)
    if (typeof bytes === 'string') return bytes
    entries.push({ bytes, isBeginning })
  }
  return entries.some(({ bytes }) => bytes.length === 0) ? null : createIdFilter(entries)
}

/** @param {Entry[]} given */
function createIdFilter (given) {
  const entries = withoutCovered(given)
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
      const { bytes: own, isBeginning } = entries[low - 1]
      return (own.length === end - at || (isBeginning && own.length < end - at)) && compare(own, bytes, at, at + own.length) === 0
    }
  })
}

/** @param {Entry[]} given @returns {Entry[]} by bytes; beginnings come before the same id */
function withoutCovered (given) {
  const sorted = [...given].sort((a, b) => Buffer.compare(a.bytes, b.bytes) || Number(b.isBeginning) - Number(a.isBeginning))
  /** @type {Entry[]} */
  const kept = []
  for (const one of sorted) {
    const last = kept.at(-1)
    const common = last?.isBeginning ? one.bytes.subarray(0, last.bytes.length) : one.bytes
    if (!last?.bytes.equals(common)) kept.push(one)
  }
  return kept
}

/** @param {Buffer} own @param {Uint8Array} bytes @param {number} at @param {number} end @returns {number} as Buffer.compare */
function compare (own, bytes, at, end) {
  const length = end - at
  const common = Math.min(own.length, length)
  for (let i = 0; i < common; i++) if (own[i] !== bytes[at + i]) return own[i] - bytes[at + i]
  return own.length - length
}
