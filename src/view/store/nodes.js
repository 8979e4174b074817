/**
 * The nodes of an order (order.js): 256 bytes each, in buckets.
 *
 *     0       4       8          12      16       20      24       32                                   256
 *     +-------+-------+----------+-------+--------+-------+--------+----------------------------------+
 *     | first | count | previous | next  | parent | level | low    | 56 entries, in use from `first`  |
 *     | int   | int   | leaf     | leaf  | node   | (mark)| double | ints                             |
 *     +-------+-------+----------+-------+--------+-------+--------+----------------------------------+
 *
 * A leaf (level 0) holds records, any other node holds nodes of the level below. `low` is at most the lowest key in the node,
 * and at least the highest key before it; the first node of a level does not use it.
 */
import { Chunks, NONE, Buckets } from './buckets.js'

export const NODE_ENTRIES = 56
const NODE_BYTES = 256
const INTS = 64
const BUCKET_BITS = 10
const BUCKET_MASK = (1 << BUCKET_BITS) - 1

export const FIRST = 0
export const COUNT = 1
export const PREVIOUS = 2
export const NEXT = 3
export const PARENT = 4
export const LEVEL = 5
const ENTRIES = 8
const LOW = 3

export class Nodes {
  chunks = new Chunks()
  buckets = new Buckets(NODE_BYTES, LEVEL, this.chunks)

  /** @param {number} level @param {number} low @returns {number} an empty node without neighbours */
  take (level, low) {
    const chunk = this.buckets.take()
    const at = this.buckets.taken * INTS
    const { ints } = chunk
    ints[at + FIRST] = 0
    ints[at + COUNT] = 0
    ints[at + PREVIOUS] = NONE
    ints[at + NEXT] = NONE
    ints[at + PARENT] = NONE
    ints[at + LEVEL] = level
    const node = chunk.number << BUCKET_BITS | this.buckets.taken
    this.setLow(node, low)
    return node
  }

  /** @param {number} node */
  release (node) {
    this.buckets.release(this.chunks.list[node >>> BUCKET_BITS], node & BUCKET_MASK)
  }

  /** @param {import('./buckets.js').Chunk} chunk @param {number} index */
  numberOf (chunk, index) {
    return chunk.number << BUCKET_BITS | index
  }

  /** @param {number} from @param {number} to */
  copy (from, to) {
    const at = this.at(from)
    this.ints(to).set(this.ints(from).subarray(at, at + INTS), this.at(to))
  }

  /** @param {number} node @returns {Int32Array} of its chunk */
  ints (node) {
    return this.chunks.list[node >>> BUCKET_BITS].ints
  }

  /** @param {number} node @returns {number} where it begins in these ints */
  at (node) {
    return (node & BUCKET_MASK) * INTS
  }

  /** @param {number} node @param {number} field */
  get (node, field) {
    return this.ints(node)[this.at(node) + field]
  }

  /** @param {number} node @param {number} field @param {number} value */
  set (node, field, value) {
    this.ints(node)[this.at(node) + field] = value
  }

  /** @param {number} node */
  low (node) {
    return this.chunks.list[node >>> BUCKET_BITS].floats[(node & BUCKET_MASK) * (INTS / 2) + LOW]
  }

  /** @param {number} node @param {number} low */
  setLow (node, low) {
    this.chunks.list[node >>> BUCKET_BITS].floats[(node & BUCKET_MASK) * (INTS / 2) + LOW] = low
  }

  /** @param {number} node @param {number} index @returns {number} record or node */
  entry (node, index) {
    const ints = this.ints(node)
    const at = this.at(node)
    return ints[at + ENTRIES + ints[at + FIRST] + index]
  }

  /** @param {number} node @param {number} index @param {number} entry */
  setEntry (node, index, entry) {
    const ints = this.ints(node)
    const at = this.at(node)
    ints[at + ENTRIES + ints[at + FIRST] + index] = entry
  }

  /** @param {number} node @param {number} entry that is in it @returns {number} its index */
  indexOf (node, entry) {
    const ints = this.ints(node)
    const at = this.at(node)
    const first = at + ENTRIES + ints[at + FIRST]
    let i = first
    while (ints[i] !== entry) i++
    return i - first
  }

  /** Makes room by moving the shorter side. @param {number} node that is not full @param {number} index @param {number} entry */
  insert (node, index, entry) {
    const ints = this.ints(node)
    const at = this.at(node)
    const count = ints[at + COUNT]++
    let first = at + ENTRIES + ints[at + FIRST]
    const isRoomBefore = ints[at + FIRST] > 0
    const isRoomBehind = ints[at + FIRST] + count < NODE_ENTRIES
    if (isRoomBefore && (!isRoomBehind || index * 2 < count)) {
      ints[at + FIRST]--
      first--
      for (let i = first, end = first + index; i < end; i++) ints[i] = ints[i + 1]
    } else for (let i = first + count, end = first + index; i > end; i--) ints[i] = ints[i - 1]
    ints[first + index] = entry
  }

  /** @param {number} node @param {number} index of the entry to remove */
  remove (node, index) {
    const ints = this.ints(node)
    const at = this.at(node)
    const count = --ints[at + COUNT]
    const first = at + ENTRIES + ints[at + FIRST]
    if (index * 2 < count) {
      ints[at + FIRST]++
      for (let i = first + index; i > first; i--) ints[i] = ints[i - 1]
    } else for (let i = first + index, end = first + count; i < end; i++) ints[i] = ints[i + 1]
  }
}
