/**
 * The client's word against the servers': how many items were acknowledged, and which versions a node must hold after
 * that (L5). The synthetic workload (src/synthetic.js) makes the one follow from the other:
 *
 *     N = 3 ids, T = 7 items acknowledged        id-0   id-1   id-2
 *                                                  1      2      3
 *                                                  4      5      6
 *                                                  7                       storage with every version: all of 1..7
 *     storage with the newest version of an id:    7      5      6
 *
 * Witnesses are the number in a value and the place in the order: from newest to oldest the numbers of a writer go down,
 * where scores do. Where values never change their place is the only witness, so an id whose place contradicts what was
 * acknowledged is missing: its last write is not there.
 *
 *     missing     an acknowledged version is not there, or an older one is in its place
 *     foreign     an id, a version or a key is there that was never acknowledged, or twice
 *     misplaced   it is there, and not where it belongs
 *
 * What this cannot see: a version that was lost and whose id was written again later, where only the newest is kept.
 *
 * @typedef {import('./inventory.js').Inventory} Inventory
 * @typedef {import('./inventory.js').Storage} Storage
 * @typedef {{ acknowledged: number, versions: number, missing: number, foreign: number, misplaced: number,
 *   detail: string[], digest: string }} Ledger `versions`: that must be there
 */
import { GONE, NONE } from './inventory.js'

const EXAMPLES = 5

/**
 * What a storage promises. `every`: it keeps every version, else the newest of an id; `changes`: whether values change,
 * where that is not a setting; `idFrom`: what tells the id.
 * @type {Record<Storage, { every: (changes: boolean) => boolean, changes?: boolean, idFrom: 'id' | 'value' }>}
 */
const STORAGES = {
  ids: { every: () => false, idFrom: 'id' },
  values: { every: () => true, idFrom: 'id' },
  'published-ids': { every: () => false, changes: false, idFrom: 'id' },
  // a member that is written again is the same member
  'published-values': { every: (changes) => changes, idFrom: 'value' },
  blob: { every: () => false, changes: true, idFrom: 'value' }
}

/**
 * @param {{ storage: Storage, acknowledged: number[], distinctIds: number, valueChange: 'always' | 'never' }} run
 *   `acknowledged`: items of each writer, all of them from the first on
 * @param {Inventory} inventory of one node
 * @returns {Ledger}
 */
export function checkLedger ({ storage, acknowledged, distinctIds, valueChange }, inventory) {
  const { every, changes = valueChange === 'always', idFrom } = STORAGES[storage]
  const writers = acknowledged.map((count, index) => createWriter(count, index, acknowledged.length, distinctIds))
  const find = idFrom === 'id' ? byId(writers, inventory) : byValue(writers, inventory)
  const keepsEvery = every(changes)
  const sums = createSums()
  const visit = { writers, inventory, find, sums, changes }
  if (storage === 'blob') checkNewestOfAll(visit)
  else if (keepsEvery) checkEvery(visit)
  else checkNewest(visit)
  for (const row of inventory.astray) sums.add('misplaced', () => `id-${inventory.ids[row]}: its key tells another time than the sorted set`)
  for (const name of inventory.strays.examples) sums.add('foreign', () => `key ${name} belongs to no item`)
  sums.foreign += inventory.strays.count - inventory.strays.examples.length
  return {
    acknowledged: writers.reduce((sum, { count }) => sum + count, 0),
    versions: writers.reduce((sum, { count, ids }) => sum + (keepsEvery ? count : Math.min(count, ids)), 0),
    missing: sums.missing,
    foreign: sums.foreign,
    misplaced: sums.misplaced,
    detail: sums.detail,
    digest: inventory.digest
  }
}

/**
 * @typedef {ReturnType<typeof createWriter>} Writer
 * @typedef {{ writers: Writer[], inventory: Inventory, find: (row: number) => { writer: Writer, at: number } | null,
 *   sums: ReturnType<typeof createSums>, changes: boolean }} Visit `find`: whose row it is, and at which of its ids; null =
 *   nobody's. The answer is good until the next
 */

/** @param {number} count acknowledged @param {number} index @param {number} writers @param {number} distinctIds */
function createWriter (count, index, writers, distinctIds) {
  const ids = Math.max(1, Math.ceil(Math.max(0, distinctIds - index) / writers))
  return {
    index,
    count,
    ids,
    /** The newest number of an id, 0 = none was acknowledged. @param {number} at */
    newest: (at) => at < count ? at + 1 + ids * Math.floor((count - at - 1) / ids) : 0,
    /** @param {number} at */
    nameOf: (at) => `id-${at * writers + index}`,
    order: createOrder()
  }
}

/** Whether numbers go down where scores do. Rows of one score may lie in any order. */
function createOrder () {
  let score = NaN
  let lowest = Infinity
  let lowestAbove = Infinity
  return {
    begin () {
      score = NaN
      lowest = Infinity
      lowestAbove = Infinity
    },
    /** @param {number} rowScore of the next row @param {number} number @returns {boolean} whether it may be there */
    take (rowScore, number) {
      if (rowScore !== score) {
        score = rowScore
        lowestAbove = Math.min(lowestAbove, lowest)
        lowest = Infinity
      }
      lowest = Math.min(lowest, number)
      return number < lowestAbove
    }
  }
}

function createSums () {
  return {
    missing: 0,
    foreign: 0,
    misplaced: 0,
    detail: /** @type {string[]} */ ([]),
    /** @param {'missing' | 'foreign' | 'misplaced'} what @param {() => string} why */
    add (what, why) {
      this[what]++
      if (this.detail.length < EXAMPLES) this.detail.push(`${what}: ${why()}`)
    }
  }
}

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

/** What stands in a row, for people. @param {Inventory} inventory @param {number} row */
const rowName = ({ ids, numbers }, row) => `${ids[row] === NONE ? 'an item of no writer' : `id-${ids[row]}`}, number ${numbers[row] < 0 ? 'unknown' : numbers[row]}`

/** Values shorter than their number tell none; then all rows are like that. @param {Inventory} inventory */
const tellNumbers = ({ numbers }) => numbers.some((number) => number >= 0)

/** One version of each id, the newest. @param {Visit} visit */
function checkNewest ({ writers, inventory, find, sums, changes }) {
  const { numbers, scores } = inventory
  const isNumbered = tellNumbers(inventory)
  const seen = writers.map(({ ids }) => new Uint8Array(ids))
  forEachRow(inventory, writers, (row) => {
    const whose = find(row)
    const newest = whose ? whose.writer.newest(whose.at) : 0
    if (!whose || newest === 0) return sums.add('foreign', () => `${rowName(inventory, row)}: nothing like it was acknowledged`)
    const { writer, at } = whose
    if (seen[writer.index][at]++ > 0) return sums.add('foreign', () => `${writer.nameOf(at)} is there twice`)
    const number = numbers[row]
    if (number === GONE) return sums.add('missing', () => `${writer.nameOf(at)} is in the sorted set and its key is not there`)
    const isOurs = !isNumbered || (changes ? number >= 1 && number <= writer.count && (number - 1) % writer.ids === at : number === at + 1)
    if (!isOurs) return sums.add('foreign', () => `${writer.nameOf(at)} holds ${number === NONE ? 'what is no value of ours' : `number ${number}, which was never acknowledged for it`}`)
    const tells = changes && isNumbered
    if (tells && number < newest) sums.add('missing', () => `${writer.nameOf(at)} holds number ${number}, and ${newest} was acknowledged`)
    const isInPlace = writer.order.take(scores[row], tells ? number : newest)
    if (!isInPlace && tells) sums.add('misplaced', () => `${writer.nameOf(at)}, number ${number}, lies behind older ones`)
    if (!isInPlace && !tells) sums.add('missing', () => `${writer.nameOf(at)} lies behind older ones: its last write, number ${newest}, is not there`)
  })
  writers.forEach((writer, w) => seen[w].forEach((times, at) => {
    if (times === 0 && writer.newest(at) > 0) sums.add('missing', () => `${writer.nameOf(at)}, number ${writer.newest(at)}, is not there`)
  }))
}

/** Every version once. @param {Visit} visit */
function checkEvery ({ writers, inventory, find, sums, changes }) {
  const { numbers, scores } = inventory
  const isNumbered = tellNumbers(inventory)
  const there = writers.map(({ count }) => new Uint8Array((count >> 3) + 1))
  // versions of an id that do not differ: the k-th newest must be the k-th newest
  const found = writers.map(({ ids }) => new Uint32Array(ids))
  forEachRow(inventory, writers, (row) => {
    const whose = find(row)
    if (!whose) return sums.add('foreign', () => `${rowName(inventory, row)}: nothing like it was acknowledged`)
    const { writer, at } = whose
    const tells = changes && isNumbered
    const isOurs = !isNumbered || (tells ? numbers[row] >= 1 && (numbers[row] - 1) % writer.ids === at : numbers[row] === at + 1)
    const number = tells ? numbers[row] : writer.newest(at) - writer.ids * found[writer.index][at]++
    if (!isOurs || number < 1 || number > writer.count) return sums.add('foreign', () => `${writer.nameOf(at)}, number ${numbers[row]}: no such version was acknowledged, or not so many`)
    const bits = there[writer.index]
    if (bits[number >> 3] & 1 << (number & 7)) return sums.add('foreign', () => `${writer.nameOf(at)}, number ${number}, is there twice`)
    bits[number >> 3] |= 1 << (number & 7)
    if (!writer.order.take(scores[row], number)) sums.add('misplaced', () => `${writer.nameOf(at)}, number ${number}, lies behind older ones`)
  })
  writers.forEach((writer, w) => {
    for (let number = 1; number <= writer.count; number++) {
      if (!(there[w][number >> 3] & 1 << (number & 7))) sums.add('missing', () => `${writer.nameOf((number - 1) % writer.ids)}, number ${number}, is not there`)
    }
  })
}

/** The newest of each id, among others that it has superseded. @param {Visit} visit */
function checkNewestOfAll ({ writers, inventory, find, sums }) {
  const newest = writers.map(({ ids }) => new Float64Array(ids))
  forEachRow(inventory, writers, (row) => {
    const whose = find(row)
    const number = inventory.numbers[row]
    if (!whose || number > whose.writer.count) return sums.add('foreign', () => `${rowName(inventory, row)}: nothing like it was acknowledged`)
    const column = newest[whose.writer.index]
    column[whose.at] = Math.max(column[whose.at], number)
  })
  writers.forEach((writer, w) => newest[w].forEach((number, at) => {
    if (number < writer.newest(at)) sums.add('missing', () => `${writer.nameOf(at)}: the newest is number ${number}, and ${writer.newest(at)} was acknowledged`)
  }))
}

/** @param {Inventory} inventory @param {Writer[]} writers whose order begins anew with each partition @param {(row: number) => void} visit */
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
