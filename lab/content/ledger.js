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
 * @typedef {import('./inventory.js').Inventory} Inventory
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
import { NUMBERED_VALUE_BYTES } from '../../src/synthetic.js'
import { createWriter } from './acknowledged.js'
import { NONE } from './id-number.js'
import { GONE } from './inventory.js'
import { createVersions } from './presence.js'
import { createSums, ledgerOf } from './sums.js'

/**
 * Properties of a storage. `every`: it keeps every version, else the newest of an id; `changes`: whether values change, where
 * that is not a setting; `idFrom`: where the id comes from.
 * @type {Record<Storage, { every: (changes: boolean) => boolean, changes?: boolean, idFrom: 'id' | 'value' }>}
 */
const STORAGES = {
  ids: { every: () => false, idFrom: 'id' },
  values: { every: () => true, idFrom: 'id' },
  segments: { every: () => true, idFrom: 'id' },
  stream: { every: () => true, idFrom: 'id' },
  'segments-zset': { every: () => true, idFrom: 'id' },
  list: { every: () => true, idFrom: 'id' },
  'list-hll': { every: () => true, idFrom: 'id' },
  set: { every: () => true, idFrom: 'id' },
  'published-list': { every: () => true, changes: false, idFrom: 'id' },
  'published-list-hll': { every: () => true, changes: false, idFrom: 'id' },
  'published-set': { every: () => false, changes: false, idFrom: 'id' },
  'published-ids': { every: () => false, changes: false, idFrom: 'id' },
  'two-sets': { every: () => false, idFrom: 'id' },
  'published-two-sets': { every: () => false, changes: false, idFrom: 'id' },
  // writing the same member again changes nothing
  'published-values': { every: (changes) => changes, idFrom: 'value' },
  blob: { every: () => false, changes: true, idFrom: 'value' }
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
 * @param {Run & { storage: import('./inventory.js').RowStorage }} run of a storage that is not a log (log-ledger.js)
 * @param {Inventory} inventory of one node
 * @returns {Ledger}
 */
export function checkLedger (run, inventory) {
  const { storage, acknowledged, distinctIds, valueChange, valueBytes, maxItems = 0, lateEvery = 0, newestCounts = false } = run
  const { changes = valueChange === 'always', idFrom } = STORAGES[storage]
  const writers = acknowledged.map((count, index) => createWriter(count, index, acknowledged.length, distinctIds,
    newestCounts ? lateEvery : 0))
  const find = idFrom === 'id' ? byId(writers, inventory) : byValue(writers, inventory)
  const isEvery = keepsEvery(storage, valueChange)
  const sums = createSums()
  const isNumbered = valueBytes >= NUMBERED_VALUE_BYTES
  const visit = { writers, inventory, find, sums, tells: changes && isNumbered, isNumbered, inOrder: lateEvery === 0, valueBytes, maxItems }
  let released = 0
  if (storage === 'blob') checkNewestOfAll(visit)
  else if (isEvery) released = checkEvery(visit)
  else checkNewest(visit)
  for (const row of inventory.astray) {
    sums.add('misplaced', () => `id-${inventory.ids[row]}: its key and the sorted set have different times`)
  }
  for (const name of inventory.strays.examples) sums.add('foreign', () => `key ${name} belongs to no item`)
  sums.foreign += inventory.strays.count - inventory.strays.examples.length
  return ledgerOf(writers, sums, { isEvery, released, stored: inventory.length, digest: inventory.digest })
}

/**
 * @typedef {ReturnType<typeof createWriter>} Writer
 * @typedef {{ writers: Writer[], inventory: Inventory, find: (row: number) => { writer: Writer, at: number } | null,
 *   sums: ReturnType<typeof createSums>, isNumbered: boolean, tells: boolean, inOrder: boolean,
 *   valueBytes: number, maxItems: number }} Visit `find`: the
 *   writer of a row and the index of its id, valid until the next call; null = unknown. `isNumbered`: values are long enough for
 *   a number; `tells`: the number identifies the version; `inOrder`: scores go up with numbers
 */

/** @param {Writer[]} writers @param {Inventory} inventory @returns {Visit['find']} */
function byId (writers, { ids }) {
  const found = { writer: writers[0], at: 0 }
  return (row) => {
    if (ids[row] === NONE) return null
    const index = ids[row] % writers.length
    found.writer = writers[index]
    found.at = (ids[row] - index) / writers.length
    return found.at < found.writer.ids ? found : null
  }
}

/** @param {Writer[]} writers @param {Inventory} inventory @returns {Visit['find']} */
function byValue (writers, { writers: indexes, numbers }) {
  const found = { writer: writers[0], at: 0 }
  return (row) => {
    const writer = indexes[row] === NONE && writers.length === 1 ? writers[0] : writers[indexes[row]]
    if (!writer || numbers[row] < 1) return null
    found.writer = writer
    found.at = (numbers[row] - 1) % writer.ids
    return found
  }
}

/** For messages. @param {Inventory} inventory @param {number} row */
const rowName = ({ ids, numbers }, row) =>
  `${ids[row] === NONE ? 'an item of no writer' : `id-${ids[row]}`}, number ${numbers[row] < 0 ? 'unknown' : numbers[row]}`

/** Faults of the value of a row for any version. @param {Visit} visit @param {number} row @returns {string | null} */
function wrongValue ({ inventory: { lengths, numbers }, isNumbered, valueBytes }, row) {
  if (lengths[row] !== valueBytes) return `a value of ${lengths[row]} bytes; expected ${valueBytes}`
  return isNumbered && numbers[row] === NONE ? 'a value that the load did not write' : null
}

/** One version of each id, the newest. @param {Visit} visit */
function checkNewest (visit) {
  const { writers, inventory, find, sums, isNumbered, tells, inOrder } = visit
  const { numbers, scores } = inventory
  const seen = writers.map(({ ids }) => new Uint8Array(ids))
  forEachRow(inventory, writers, (row) => {
    const whose = find(row)
    const newest = whose ? whose.writer.newest(whose.at) : 0
    if (!whose || newest === 0) return sums.add('foreign', () => `${rowName(inventory, row)} was never acknowledged`)
    const { writer, at } = whose
    if (seen[writer.index][at]++ > 0) return sums.add('foreign', () => `${writer.nameOf(at)} is there twice`)
    const number = numbers[row]
    if (number === GONE) return sums.add('missing', () => `${writer.nameOf(at)} is in the sorted set, but its key does not exist`)
    const wrong = wrongValue(visit, row)
    if (wrong) return sums.add('missing', () => `${writer.nameOf(at)} holds ${wrong}`)
    const isOurs = !isNumbered || (tells ? number >= 1 && number <= writer.count && (number - 1) % writer.ids === at : number === at + 1)
    if (!isOurs) return sums.add('foreign', () => `${writer.nameOf(at)} holds number ${number}, which was never acknowledged for it`)
    const isOther = number < newest || (number > newest && writer.isLate(at))
    if (tells && isOther) sums.add('missing', () => `${writer.nameOf(at)} holds number ${number}; ${newest} was acknowledged`)
    const isInPlace = !inOrder || writer.order.take(scores[row], tells ? number : newest)
    if (!isInPlace && tells) sums.add('misplaced', () => `${writer.nameOf(at)}, number ${number}, is behind older ones`)
    if (!isInPlace && !tells) {
      sums.add('missing', () => `${writer.nameOf(at)} is behind older ones: its last write, number ${newest}, is missing`)
    }
  })
  writers.forEach((writer, w) => seen[w].forEach((times, at) => {
    if (times === 0 && writer.newest(at) > 0) sums.add('missing', () => `${writer.nameOf(at)}, number ${writer.newest(at)}, is missing`)
  }))
}

/** Every version once. @param {Visit} visit @returns {number} how many were dropped */
function checkEvery (visit) {
  const { writers, inventory, find, sums, isNumbered, tells, maxItems } = visit
  const { numbers, scores, starts } = inventory
  const versions = createVersions(writers, sums,
    { isNumbered, tells, isNewestFirst: true, partitions: Math.max(1, starts.length), maxItems })
  forEachRow(inventory, writers, (row) => {
    const whose = find(row)
    if (!whose) return sums.add('foreign', () => `${rowName(inventory, row)} was never acknowledged`)
    const { writer, at } = whose
    const wrong = wrongValue(visit, row)
    if (wrong) return sums.add('foreign', () => `${writer.nameOf(at)} holds ${wrong}`)
    const number = versions.take(writer, at, numbers[row])
    if (number > 0 && !writer.order.take(scores[row], number)) {
      sums.add('misplaced', () => `${writer.nameOf(at)}, number ${number}, is behind older ones`)
    }
  })
  return versions.end()
}

/** The newest of each id, among superseded ones. @param {Visit} visit */
function checkNewestOfAll (visit) {
  const { writers, inventory, find, sums } = visit
  const newest = writers.map(({ ids }) => new Float64Array(ids))
  forEachRow(inventory, writers, (row) => {
    const whose = find(row)
    const number = inventory.numbers[row]
    const wrong = wrongValue(visit, row)
    if (wrong) return sums.add('foreign', () => `a blob holds ${wrong}`)
    if (!whose || number > whose.writer.count) return sums.add('foreign', () => `${rowName(inventory, row)} was never acknowledged`)
    const column = newest[whose.writer.index]
    column[whose.at] = Math.max(column[whose.at], number)
  })
  writers.forEach((writer, w) => newest[w].forEach((number, at) => {
    if (number < writer.newest(at)) {
      sums.add('missing', () => `${writer.nameOf(at)}: the newest is number ${number}; ${writer.newest(at)} was acknowledged`)
    }
  }))
}

/** @param {Inventory} inventory @param {Writer[]} writers whose order restarts with each partition @param {(row: number) => void} visit */
function forEachRow ({ length, starts }, writers, visit) {
  let next = 0
  for (let row = 0; row < length; row++) {
    while (next < starts.length && starts[next] === row) {
      next++
      for (const { order } of writers) order.begin()
    }
    visit(row)
  }
}
