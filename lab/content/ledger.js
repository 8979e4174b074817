/**
 * Compares the client's count of acknowledged items with the contents of a node (L5). The synthetic workload (src/synthetic.js)
 * determines which versions a node must hold:
 *
 *     N = 3 ids, T = 7 items acknowledged        id-0   id-1   id-2
 *                                                  1      2      3
 *                                                  4      5      6
 *                                                  7                       storage with every version: all of 1..7,
 *                                                                         except those dropped by maxItems (presence.js)
 *     storage with the newest version of an id:    7      5      6
 *
 * The evidence is the size of a value, the number in it, and the order: from newest to oldest, the numbers of a writer go down
 * where scores do. Values too short for a number show only their size. Where values never change, only the order shows a
 * write, so an id in the wrong position counts as missing: its last write is not there.
 *
 *     missing     an acknowledged version is absent, or replaced by an older one or by a value that is not the load's
 *     foreign     an id, version or key was never acknowledged, or is there twice; where every version is kept, also a value
 *                 that is not the load's, because it cannot be assigned to a version
 *     misplaced   present, but out of order
 *
 * This cannot detect a lost version whose id was written again later, where only the newest is kept. It cannot tell why a
 * version is missing either, so plans must not let a feed drop items by age, or drop ids (retention.js).
 *
 * @typedef {import('./inventory.js').Storage} Storage
 * @typedef {{ acknowledged: number[], distinctIds: number, valueChange: 'always' | 'never', valueBytes: number, maxItems?: number,
 *   lateEvery?: number, newestCounts?: boolean }} Run
 *   `acknowledged`: items of each writer, late ones too; `valueBytes` of every value; `maxItems` of each partition, 0 = no limit;
 *   `newestCounts`: late items have no effect
 * @typedef {{ acknowledged: number, liveItems: number, versions: number, verified: number, stored: number,
 *   released: number, doubled?: number, missing: number,
 *   foreign: number, misplaced: number, detail: string[], digest: string }} Ledger `liveItems`: acknowledged ids; `versions` that must
 *   be there; `verified` of these; `stored` on the node, superseded versions too; `released`: dropped by maxItems; `doubled`:
 *   delivered twice, which counts once
 */
import { createHash } from 'node:crypto'
import { NUMBERED_VALUE_BYTES, readValue } from '../../src/synthetic.js'
import { createWriter } from './acknowledged.js'
import { NONE } from './id-number.js'
import { createVersions } from './presence.js'
import { createSums, ledgerOf } from './sums.js'

/** in place of a number: the member exists, its key does not */
const GONE = -2
const PIECES_AT_ONCE = 4000

/**
 * Properties of a storage. `every`: it keeps every version, else the newest of an id; `changes`: whether values change, where
 * that is not a setting; `isByValue`: only the value says which id it is.
 * @type {Record<Storage, { every: (changes: boolean) => boolean, changes?: boolean, isByValue?: boolean }>}
 */
const STORAGES = {
  ids: { every: () => false },
  values: { every: () => true },
  segments: { every: () => true },
  stream: { every: () => true },
  'segments-zset': { every: () => true },
  list: { every: () => true },
  'list-hll': { every: () => true },
  set: { every: () => true },
  'published-list': { every: () => true, changes: false },
  'published-list-hll': { every: () => true, changes: false },
  'published-set': { every: () => false, changes: false },
  'published-ids': { every: () => false, changes: false },
  'two-sets': { every: () => false },
  'published-two-sets': { every: () => false, changes: false },
  // writing the same member again changes nothing
  'published-values': { every: (changes) => changes, isByValue: true },
  blob: { every: () => false, changes: true, isByValue: true }
}

/**
 * @param {Storage} storage @param {'always' | 'never'} valueChange
 * @returns {boolean} whether it keeps every version, else the newest of each id; false for an unknown storage
 */
export function keepsEvery (storage, valueChange) {
  const { every, changes = valueChange === 'always' } = STORAGES[storage] ?? STORAGES.ids
  return every(changes)
}

/**
 * The ledger of one node whose storage is not a log (log-ledger.js). It gets the rows one by one, newest first within a partition.
 * @param {Run & { storage: import('./inventory.js').RowStorage, partitions: number }} run
 */
export function createLedger ({
  storage, partitions, acknowledged, distinctIds, valueChange, valueBytes, maxItems = 0, lateEvery = 0, newestCounts = false
}) {
  const { changes = valueChange === 'always', isByValue = false } = STORAGES[storage]
  const writers = acknowledged.map((count, index) => createWriter(count, index, acknowledged.length, distinctIds,
    newestCounts ? lateEvery : 0))
  const isEvery = keepsEvery(storage, valueChange)
  const isNumbered = valueBytes >= NUMBERED_VALUE_BYTES
  const sums = createSums()
  const find = (isByValue ? byValue : byId)(writers)
  const checkOf = storage === 'blob' ? newestOfAll : isEvery ? everyVersion : newestOfEach
  const { take, end } = checkOf({
    writers, find, sums, tells: changes && isNumbered, isNumbered, inOrder: lateEvery === 0, valueBytes, partitions, maxItems
  })
  const digest = createHash('sha1')
  /** not in the digest yet @type {Buffer[]} */
  let bytes = []
  let [stored, last] = [0, NONE]

  /** @param {...Buffer} more */
  function hash (...more) {
    bytes.push(...more)
    if (bytes.length < PIECES_AT_ONCE) return
    digest.update(Buffer.concat(bytes))
    bytes = []
  }

  return {
    beginPartition () { for (const { order } of writers) order.begin() },

    /**
     * @param {number} id k of `id-<k>`, or NONE @param {Buffer | null} value null = the key does not exist
     * @param {number} score NaN where there is no order
     */
    add (id, value, score) {
      const read = value && readValue(value)
      stored++
      last = id
      take({ id, writer: read?.writer ?? NONE, number: read?.number ?? (value ? NONE : GONE), length: value?.length ?? NONE, score })
    },

    /** The key of the last row has another order than the sorted set. */
    markAstray: () => sums.add('misplaced', () => `id-${last}: its key and the sorted set have different times`),

    /** A key that belongs to no row. @param {string} name */
    stray (name) {
      sums.add('foreign', () => `key ${name} belongs to no item`)
      hash(Buffer.from(name))
    },

    /** Contents: equal nodes have equal digests. */
    hash,

    /** @returns {Ledger} */
    end () {
      const released = end()
      return ledgerOf(writers, sums, { isEvery, released, stored, digest: digest.update(Buffer.concat(bytes)).digest('hex') })
    }
  }
}

/**
 * @typedef {ReturnType<typeof createWriter>} Writer
 * @typedef {{ id: number, writer: number, number: number, length: number, score: number }} Row `writer`: its index, if the value has it, or
 *   NONE; `number` in the value, NONE or GONE; `length` of the value, NONE without one
 * @typedef {(row: Row) => { writer: Writer, at: number } | null} Find the writer of a row and the index of its id, valid until the next
 *   call; null = unknown
 * @typedef {{ writers: Writer[], find: Find, sums: ReturnType<typeof createSums>, isNumbered: boolean, tells: boolean, inOrder: boolean,
 *   valueBytes: number, partitions: number, maxItems: number }} Parts `isNumbered`: values are long enough for a number; `tells`: the
 *   number identifies the version; `inOrder`: scores go up with numbers
 * @typedef {{ take: (row: Row) => void, end: () => number }} Check `end` returns how many versions were dropped
 */

/** @param {Writer[]} writers @returns {Find} */
function byId (writers) {
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
function byValue (writers) {
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
function newestOfEach (parts) {
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
function everyVersion (parts) {
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
function newestOfAll (parts) {
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
