/**
 * The ledger (ledger.js) of storage that is a log. A run writes millions of versions a second, so they are checked in the
 * received buffers, with one bit and no object for each version.
 *
 *     value      the bytes of the synthetic workload are compared; the number is read
 *     version    the number, where values change; else each id has as many versions as were acknowledged (presence.js)
 *     order      numbers and times (ts, seq) of a writer rise together, however writers and stripes interleave; where values do
 *                not identify a version, only within an entry
 *     twice      an entry with the origin of an earlier one is the same write, delivered twice: it counts once
 *
 * An entry that is not the load's, that cannot be decoded or that is a deletion is foreign: it cannot be assigned to a version.
 */
import { scoreOf } from '../../src/item/index.js'
import { NUMBERED_VALUE_BYTES, makeValue } from '../../src/synthetic.js'
import { createWriter } from './acknowledged.js'
import { NONE, idNumber } from './id-number.js'
import { decoderOf, readLog } from './log-inventory.js'
import { createVersions } from './presence.js'
import { createSums, ledgerOf } from './sums.js'

const ZERO = 48
const NINE = 57
const NUMBER = '0'.repeat(NUMBERED_VALUE_BYTES)

/**
 * @param {import('../../src/store/index.js').Connection} connection to one node
 * @param {{ storage: import('./log-inventory.js').LogStorage, key: import('./inventory.js').Key | import('./inventory.js').Key[] }} feed
 * @param {import('./ledger.js').Run} run
 * @returns {Promise<import('./ledger.js').Ledger>}
 */
export async function checkLog (connection, feed, { acknowledged, distinctIds, valueChange, valueBytes, maxItems = 0 }) {
  const writers = acknowledged.map((count, index) => createWriter(count, index, acknowledged.length, distinctIds))
  const sums = createSums()
  const { head, each } = decoderOf(feed.storage)
  const values = writers.map(({ index }) => createValueCheck(valueBytes, index))
  const isNumbered = valueBytes >= NUMBERED_VALUE_BYTES
  const tells = valueChange === 'always' && isNumbered
  const versions = createVersions(writers, sums, { isNumbered, tells, partitions: [feed.key].flat().length, maxItems })
  const orders = writers.map(() => createOrder({ isKept: tells }))
  /** @type {Set<string>} */
  const origins = new Set()
  let stored = 0
  let doubled = 0
  let isDoubled = false

  /** @type {import('../../src/item/index.js').Visit} */
  function look (bytes, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) {
    stored++
    if (isDoubled) {
      doubled++
      return
    }
    const id = idNumber(bytes, idAt, idEnd)
    const writer = id === NONE ? undefined : writers[id % writers.length]
    const at = writer ? (id - writer.index) / writers.length : 0
    if (!writer || deleted || at >= writer.ids) {
      return sums.add('foreign', () => `${deleted ? 'a deletion of ' : ''}${bytes.toString('utf8', idAt, idEnd)} was never acknowledged`)
    }
    const number = values[writer.index](bytes, valueAt, valueEnd)
    if (number < 0) {
      return sums.add('foreign', () => `${writer.nameOf(at)} holds ${valueEnd - valueAt === valueBytes
        ? 'a value that the load did not write'
        : `a value of ${valueEnd - valueAt} bytes; expected ${valueBytes}`}`)
    }
    const taken = versions.take(writer, at, number)
    if (taken > 0 && !orders[writer.index].take(taken, scoreOf(ts, seq))) {
      sums.add('misplaced', () => `${writer.nameOf(at)} is behind older ones of its entry`)
    }
  }

  const digest = await readLog(connection, feed, ({ place, bytes }) => {
    if (bytes === null) return sums.add('foreign', () => `entry ${place} is not an entry of the layout`)
    if (!tells) for (const order of orders) order.cut()
    try {
      const { origin } = head(bytes)
      isDoubled = origins.has(origin)
      origins.add(origin)
      each(bytes, look)
    } catch (error) {
      if (!['SEGMENT_INVALID', 'SEGMENT_VERSION'].includes(error.code)) throw error
      sums.add('foreign', () => `entry ${place}: ${error.message}`)
    }
  })
  writers.forEach(({ index, ids, nameOf }) => {
    for (const number of orders[index].end()) {
      sums.add('misplaced', () => `${nameOf((number - 1) % ids)}, number ${number}, is behind older ones`)
    }
  })
  return ledgerOf(writers, sums, { released: versions.end(), stored, doubled, digest })
}

/**
 * Checks the bytes of a writer's values except for their numbers.
 * @param {number} valueBytes @param {number} index of the writer
 * @returns {(bytes: Buffer, from: number, to: number) => number} the number; 0 = values without numbers; NONE = not a value of the load
 */
function createValueCheck (valueBytes, index) {
  const { value: like } = makeValue(valueBytes, index)
  const isNumbered = valueBytes >= NUMBERED_VALUE_BYTES
  // values of plain digits start with a zero, others do not
  const numberAt = like[0] === ZERO ? 0 : like.indexOf(NUMBER)
  const numberEnd = like[0] === ZERO ? valueBytes : numberAt + NUMBER.length
  return (bytes, from, to) => {
    if (to - from !== valueBytes) return NONE
    if (!isNumbered) return 0
    for (let i = 0; i < numberAt; i++) if (bytes[from + i] !== like[i]) return NONE
    if (numberEnd < valueBytes && like.compare(bytes, from + numberEnd, to, numberEnd) !== 0) return NONE
    let number = 0
    for (let i = from + numberAt; i < from + numberEnd; i++) {
      if (bytes[i] < ZERO || bytes[i] > NINE) return NONE
      number = number * 10 + bytes[i] - ZERO
    }
    return number
  }
}

/**
 * Whether numbers and times of a writer rise together. Versions in order form a run, of which only the ends are kept; runs are
 * compared at the end, because entries of several stripes interleave. Runs with overlapping numbers are not compared.
 * @param {{ isKept: boolean }} options whether runs are kept and compared at the end
 */
function createOrder ({ isKept }) {
  /** @type {number[]} first number, last number, first key, last key, first number, ... */
  const runs = []
  let isCut = true
  let last = -1

  return {
    /** The next version begins a run. */
    cut () {
      isCut = true
      if (!isKept) runs.length = 0
    },

    /**
     * @param {number} number
     * @param {number} orderKey of its time
     * @returns {boolean} false: out of order, where runs are not compared at the end
     */
    take (number, orderKey) {
      const fits = isCut || number < runs[last + 1] || orderKey >= runs[last + 3]
      if (isCut || number < runs[last + 1] || !fits) {
        last = runs.length
        runs.push(number, number, orderKey, orderKey)
        isCut = false
        return fits || isKept
      }
      runs[last + 1] = number
      runs[last + 3] = orderKey
      return true
    },

    /** @returns {number[]} the first numbers of runs that are behind older ones */
    end () {
      if (!isKept) return []
      const starts = Array.from({ length: runs.length / 4 }, (_, i) => 4 * i).sort((a, b) => runs[a] - runs[b])
      const ends = starts.toSorted((a, b) => runs[a + 1] - runs[b + 1])
      let newest = -Infinity
      let next = 0
      return starts.filter((start) => {
        for (; next < ends.length && runs[ends[next] + 1] < runs[start]; next++) newest = Math.max(newest, runs[ends[next] + 3])
        return runs[start + 2] < newest
      }).map((start) => runs[start])
    }
  }
}
