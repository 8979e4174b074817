/** What is done for each item of a batch of layout `ids`. */
import { RECORD_HEAD_BYTES, writeRecordHead } from '../item/index.js'
import { createScoreText } from './score-text.js'
import { argument, command } from './wire.js'

/** @typedef {import('./wire.js').Wire} Wire */

const ITEM_ROOM = 96
const SET = command(3, 'SET')
const SET_EXPIRING = command(5, 'SET')

/**
 * Writes each item: its key and record, its score and id.
 * @param {{ items: Wire, members: Wire, prefix: Buffer, expiry: Buffer, tombstoneMs: number, separateSets: boolean }} to
 */
export function createItemEncoder ({ items, members, prefix, expiry, tombstoneMs, separateSets }) {
  const tombstoneExpiry = Buffer.from(argument('PX') + argument(tombstoneMs))
  const setHead = expiry.length > 0 ? SET_EXPIRING : SET
  const writeScore = createScoreText()
  /** where the last item's key begins and ends, and where its record begins */
  let [keyAt, keyEnd, recordAt] = [0, 0, 0]

  return {
    /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value @param {boolean} deleted */
    encode (id, ts, seq, value, deleted) {
      items.reserve(prefix.length + id.length + value.length + 2 * ITEM_ROOM + tombstoneExpiry.length)
      members.reserve(id.length + ITEM_ROOM)
      if (separateSets) items.short(deleted ? SET_EXPIRING : setHead)
      items.bulkHead(prefix.length + id.length)
      keyAt = items.length
      items.short(prefix)
      items.short(id)
      keyEnd = items.length
      items.end()
      items.bulkHead(RECORD_HEAD_BYTES + value.length)
      recordAt = items.length
      items.length = writeRecordHead(items.bytes, items.length, ts, seq, deleted)
      items.long(value)
      items.end()
      if (separateSets) items.short(deleted ? tombstoneExpiry : expiry)
      writeScore(members, ts, seq)
      members.bulkHead(id.length)
      members.short(id)
      members.end()
    },
    /** Key, and the first bytes of the record. @returns {Buffer[]} */
    lastItem: () => [items.bytes.subarray(keyAt, keyEnd), items.bytes.subarray(recordAt, recordAt + RECORD_HEAD_BYTES)]
  }
}

/** Whether the items of a batch are in their order. */
export function createOrder () {
  let lowest = NaN
  /** of the last item; NaN = one was older than the item before */
  let last = -1
  return {
    get lowest () { return lowest },
    /** @param {number} score */
    add (score) {
      if (last === -1) lowest = score
      last = score >= last ? score : NaN
    },
    /** They are, and all are newer. @param {number} score */
    isAbove: (score) => last >= lowest && lowest > score,
    reset () { last = -1 }
  }
}
