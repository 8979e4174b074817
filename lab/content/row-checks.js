/**
 * What a node must hold of the acknowledged versions, row by row: the newest of each id, every version, or the newest among superseded
 * ones.
 *
 * @typedef {ReturnType<typeof import('./acknowledged.js').createWriter>} Writer
 * @typedef {{ id: number, writer: number, number: number, length: number, score: number }} Row `writer`: its index, if the value has it, or
 *   NONE; `number` in the value, NONE or GONE; `length` of the value, NONE without one
 * @typedef {(row: Row) => { writer: Writer, at: number } | null} Find the writer of a row and the index of its id, valid until the next
 *   call; null = unknown
 * @typedef {{ writers: Writer[], find: Find, sums: ReturnType<typeof import('./sums.js').createSums>, isNumbered: boolean, tells: boolean,
 *   inOrder: boolean, valueBytes: number, partitions: number, maxItems: number }} Parts `isNumbered`: values are long
 *   enough for a number; `tells`: the number identifies the version; `inOrder`: scores go up with numbers
 * @typedef {{ take: (row: Row) => void, end: () => number }} Check `end` returns how many versions were dropped
 */
import { NONE } from './id-number.js'
import { createVersions } from './presence.js'

/** in place of a number: the member exists, its key does not */
export const GONE = -2

/** @param {Writer[]} writers @returns {Find} */
export function byId (writers) {
  const found = { writer: writers[0], at: 0 }
  return ({ id }) => {
    if (id === NONE) return null
    const index = id % writers.length
    found.writer = writers[index]
    found.at = (id - index) / writers.length
    return found.at < found.writer.ids ? found : null
  }
}

/** @param {Writer[]} writers @returns {Find} */
export function byValue (writers) {
  const found = { writer: writers[0], at: 0 }
  return ({ writer: index, number }) => {
    const writer = index === NONE && writers.length === 1 ? writers[0] : writers[index]
    if (!writer || number < 1) return null
    found.writer = writer
    found.at = (number - 1) % writer.ids
    return found
  }
}

/** For messages. @param {Row} row */
const rowName = ({ id, number }) => `${id === NONE ? 'an item of no writer' : `id-${id}`}, number ${number < 0 ? 'unknown' : number}`

/** Faults of the value of a row for any version. @param {Parts} parts @param {Row} row @returns {string | null} */
function wrongValue ({ isNumbered, valueBytes }, { length, number }) {
  if (length !== valueBytes) return `a value of ${length} bytes; expected ${valueBytes}`
  return isNumbered && number === NONE ? 'a value that the load did not write' : null
}

/** One version of each id, the newest. @param {Parts} parts @returns {Check} */
export function newestOfEach (parts) {
  const { writers, find, sums, isNumbered, tells, inOrder } = parts
  const seen = writers.map(({ ids }) => new Uint8Array(ids))
  return {
    take (row) {
      const whose = find(row)
      const newest = whose ? whose.writer.newest(whose.at) : 0
      if (!whose || newest === 0) return sums.add('foreign', () => `${rowName(row)} was never acknowledged`)
      const { writer, at } = whose
      if (seen[writer.index][at]++ > 0) return sums.add('foreign', () => `${writer.nameOf(at)} is there twice`)
      const { number, score } = row
      if (number === GONE) return sums.add('missing', () => `${writer.nameOf(at)} is in the sorted set, but its key does not exist`)
      const wrong = wrongValue(parts, row)
      if (wrong) return sums.add('missing', () => `${writer.nameOf(at)} holds ${wrong}`)
      const isOurs = !isNumbered || (tells ? number >= 1 && number <= writer.count && (number - 1) % writer.ids === at : number === at + 1)
      if (!isOurs) return sums.add('foreign', () => `${writer.nameOf(at)} holds number ${number}, which was never acknowledged for it`)
      const isOther = number < newest || (number > newest && writer.isLate(at))
      if (tells && isOther) sums.add('missing', () => `${writer.nameOf(at)} holds number ${number}; ${newest} was acknowledged`)
      const isInPlace = !inOrder || writer.order.take(score, tells ? number : newest)
      if (!isInPlace && tells) sums.add('misplaced', () => `${writer.nameOf(at)}, number ${number}, is behind older ones`)
      if (!isInPlace && !tells) {
        sums.add('missing', () => `${writer.nameOf(at)} is behind older ones: its last write, number ${newest}, is missing`)
      }
    },
    end () {
      writers.forEach((writer, w) => seen[w].forEach((times, at) => {
        if (times === 0 && writer.newest(at) > 0) sums.add('missing', () => `${writer.nameOf(at)}, number ${writer.newest(at)}, is missing`)
      }))
      return 0
    }
  }
}

/** Every version once. @param {Parts} parts @returns {Check} */
export function everyVersion (parts) {
  const { writers, find, sums, isNumbered, tells, partitions, maxItems } = parts
  const versions = createVersions(writers, sums, { isNumbered, tells, isNewestFirst: true, partitions, maxItems })
  return {
    take (row) {
      const whose = find(row)
      if (!whose) return sums.add('foreign', () => `${rowName(row)} was never acknowledged`)
      const { writer, at } = whose
      const wrong = wrongValue(parts, row)
      if (wrong) return sums.add('foreign', () => `${writer.nameOf(at)} holds ${wrong}`)
      const number = versions.take(writer, at, row.number)
      if (number > 0 && !writer.order.take(row.score, number)) {
        sums.add('misplaced', () => `${writer.nameOf(at)}, number ${number}, is behind older ones`)
      }
    },
    end: versions.end
  }
}

/** The newest of each id, among superseded ones. @param {Parts} parts @returns {Check} */
export function newestOfAll (parts) {
  const { writers, find, sums } = parts
  const newest = writers.map(({ ids }) => new Float64Array(ids))
  return {
    take (row) {
      const whose = find(row)
      const wrong = wrongValue(parts, row)
      if (wrong) return sums.add('foreign', () => `a blob holds ${wrong}`)
      if (!whose || row.number > whose.writer.count) return sums.add('foreign', () => `${rowName(row)} was never acknowledged`)
      const column = newest[whose.writer.index]
      column[whose.at] = Math.max(column[whose.at], row.number)
    },
    end () {
      writers.forEach((writer, w) => newest[w].forEach((number, at) => {
        if (number < writer.newest(at)) {
          sums.add('missing', () => `${writer.nameOf(at)}: the newest is number ${number}; ${writer.newest(at)} was acknowledged`)
        }
      }))
      return 0
    }
  }
}
