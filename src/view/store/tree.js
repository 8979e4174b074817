/**
 * The structure of an order (order.js): fills, splits, joins and moves nodes. It compares nothing.
 *
 * A full node gives its upper half to a new one behind it; a node of at most 14 entries is joined with a neighbour that has
 * room; an empty one is removed. Appending starts a new node instead of splitting, so items in order leave full nodes.
 */
import { Buckets, Chunks, NONE } from './buckets.js'

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

const NODE_ENTRIES = 56
const NODE_BYTES = 256
const INTS = 64
const BUCKET_BITS = 10
const BUCKET_MASK = (1 << BUCKET_BITS) - 1

const FIRST = 0
export const COUNT = 1
export const PREVIOUS = 2
export const NEXT = 3
const PARENT = 4
export const LEVEL = 5
const ENTRIES = 8
const LOW = 3

class Nodes {
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

const FEW = 14
const JOINED = 40

export class Tree {
  nodes = new Nodes()
  root = NONE
  firstLeaf = NONE
  lastLeaf = NONE
  #records
  #key
  #leaf

  /** @param {import('./records.js').Records} records @param {{ key: number, leaf: number }} by BY_ORDER or BY_ARRIVAL (records.js) */
  constructor (records, { key, leaf }) {
    this.#records = records
    this.#key = key
    this.#leaf = leaf
  }

  /** @param {number} key of the first record @returns {number} the only leaf */
  begin (key) {
    this.root = this.firstLeaf = this.lastLeaf = this.nodes.take(0, key)
    return this.root
  }

  /** @param {number} node @param {number} index @param {number} entry */
  insert (node, index, entry) {
    const { nodes } = this
    if (nodes.get(node, COUNT) === NODE_ENTRIES) {
      const half = NODE_ENTRIES / 2
      const behind = this.addBehind(node, this.#lowFrom(node, half))
      this.#moveLast(node, behind, half)
      if (index > half) {
        node = behind
        index -= half
      }
    }
    nodes.insert(node, index, entry)
    this.#setOwner(nodes.get(node, LEVEL), entry, node)
  }

  /** @param {number} node @param {number} low @returns {number} an empty node of the same level behind it */
  addBehind (node, low) {
    const { nodes } = this
    const level = nodes.get(node, LEVEL)
    const added = nodes.take(level, low)
    if (level === 0) this.#link(added, node, nodes.get(node, NEXT))
    let parent = nodes.get(node, PARENT)
    if (parent === NONE) {
      parent = this.root = nodes.take(level + 1, nodes.low(node))
      this.insert(parent, 0, node)
    }
    let index = nodes.indexOf(parent, node) + 1
    if (index === NODE_ENTRIES) {
      parent = this.addBehind(parent, low)
      index = 0
    }
    this.insert(parent, index, added)
    return added
  }

  /** @param {number} node @param {number} index of the entry to remove */
  take (node, index) {
    const { nodes } = this
    nodes.remove(node, index)
    const count = nodes.get(node, COUNT)
    if (count === 0) this.#removeNode(node)
    else if (count <= FEW && nodes.get(node, PARENT) !== NONE) this.#join(node, count)
  }

  /** Moves a node into another bucket, for a chunk that is drained. @param {import('./buckets.js').Chunk} chunk @param {number} index */
  moveNode (chunk, index) {
    const { nodes } = this
    const from = nodes.numberOf(chunk, index)
    const to = nodes.take(0, 0)
    nodes.copy(from, to)
    const level = nodes.get(to, LEVEL)
    const parent = nodes.get(to, PARENT)
    if (parent === NONE) this.root = to
    else nodes.setEntry(parent, nodes.indexOf(parent, from), to)
    if (level === 0) this.#link(to, nodes.get(to, PREVIOUS), nodes.get(to, NEXT))
    for (let i = 0, count = nodes.get(to, COUNT); i < count; i++) this.#setOwner(level, nodes.entry(to, i), to)
    nodes.release(from)
  }

  /** @param {number} leaf @param {number} previous @param {number} next of its neighbours */
  #link (leaf, previous, next) {
    const { nodes } = this
    nodes.set(leaf, PREVIOUS, previous)
    nodes.set(leaf, NEXT, next)
    this.#meet(previous, leaf)
    this.#meet(leaf, next)
  }

  /** @param {number} leaf @param {number} next that is behind it now; NONE where there is none */
  #meet (leaf, next) {
    if (leaf === NONE) this.firstLeaf = next
    else this.nodes.set(leaf, NEXT, next)
    if (next === NONE) this.lastLeaf = leaf
    else this.nodes.set(next, PREVIOUS, leaf)
  }

  /** @param {number} level @param {number} entry of a node of that level @param {number} node */
  #setOwner (level, entry, node) {
    if (level === 0) this.#records.setLeaf(entry, this.#leaf, node)
    else this.nodes.set(entry, PARENT, node)
  }

  /** @param {number} node @param {number} index @returns {number} a key not above that of any entry from there on */
  #lowFrom (node, index) {
    const entry = this.nodes.entry(node, index)
    return this.nodes.get(node, LEVEL) === 0 ? this.#records.key(entry, this.#key) : this.nodes.low(entry)
  }

  /** @param {number} from @param {number} to an empty one behind it @param {number} count */
  #moveLast (from, to, count) {
    const { nodes } = this
    const level = nodes.get(from, LEVEL)
    const left = nodes.get(from, COUNT) - count
    for (let i = 0; i < count; i++) {
      const entry = nodes.entry(from, left + i)
      nodes.insert(to, i, entry)
      this.#setOwner(level, entry, to)
    }
    nodes.set(from, COUNT, left)
  }

  /** Moves the entries of a small node to a neighbour under the same parent, if it has room. @param {number} node @param {number} count */
  #join (node, count) {
    const { nodes } = this
    const parent = nodes.get(node, PARENT)
    const index = nodes.indexOf(parent, node)
    const before = index > 0 ? nodes.entry(parent, index - 1) : NONE
    const behind = index + 1 < nodes.get(parent, COUNT) ? nodes.entry(parent, index + 1) : NONE
    if (before !== NONE && nodes.get(before, COUNT) + count <= JOINED) {
      const has = nodes.get(before, COUNT)
      for (let i = 0; i < count; i++) this.insert(before, has + i, nodes.entry(node, i))
    } else if (behind !== NONE && nodes.get(behind, COUNT) + count <= JOINED) {
      for (let i = count - 1; i >= 0; i--) this.insert(behind, 0, nodes.entry(node, i))
      nodes.setLow(behind, nodes.low(node))
    } else return
    this.#removeNode(node)
  }

  /** @param {number} node whose entries were moved */
  #removeNode (node) {
    const { nodes } = this
    const parent = nodes.get(node, PARENT)
    if (nodes.get(node, LEVEL) === 0) this.#meet(nodes.get(node, PREVIOUS), nodes.get(node, NEXT))
    nodes.release(node)
    if (parent === NONE) this.root = NONE
    else {
      this.take(parent, nodes.indexOf(parent, node))
      this.#lowerRoot()
    }
  }

  /** Removes a root with one child. */
  #lowerRoot () {
    const { nodes } = this
    while (this.root !== NONE && nodes.get(this.root, LEVEL) > 0 && nodes.get(this.root, COUNT) === 1) {
      const child = nodes.entry(this.root, 0)
      nodes.release(this.root)
      nodes.set(child, PARENT, NONE)
      this.root = child
    }
  }
}
