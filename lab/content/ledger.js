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
import { byId, byValue, everyVersion, GONE, newestOfAll, newestOfEach } from './row-checks.js'
import { createSums, ledgerOf } from './sums.js'

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
  list: { every: () => true },
  'published-list': { every: () => true, changes: false },
  'published-list-hll': { every: () => true, changes: false },
  'published-set': { every: () => false, changes: false },
  'published-ids': { every: () => false, changes: false },
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
