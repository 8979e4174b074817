/**
 * Records ordered by one of their doubles, then by the bytes of their ids: a B+ tree with linked leaves.
 *
 *     level 2                       [ . . ]
 *     level 1          [ . . . . ]          [ . . . ]
 *     leaves    [ old ] <-> [ . . ] <-> [ . . ] <-> [ newest ]
 *
 * Why a tree: pages begin anywhere, windows last from a second to for ever, 300,000 items may have one ts, and late items go
 * anywhere. Buckets of time would suit only one of these. A page begins after some twenty comparisons. The common case is
 * cheap: the newest item is appended to the last leaf, and each record knows its leaf, so removal searches at most 56 ints.
 *
 * A position is leaf << 6 | index, valid until the next change. NONE is before the oldest.
 */
import { COUNT, LEVEL, NEXT, PREVIOUS, Tree } from './tree.js'
import { NONE } from './buckets.js'

/** entries of a leaf that is filled in order, which leaves room for late items */
const FILLED = 48

export class Order {
  /** number of records */
  count = 0
  #tree
  #items
  #records
  #key
  #leaf

  /** @param {import('./items.js').Items} items @param {{ key: number, leaf: number }} by BY_ORDER or BY_ARRIVAL (records.js) */
  constructor (items, by) {
    this.#items = items
    this.#records = items.records
    this.#key = by.key
    this.#leaf = by.leaf
    this.#tree = new Tree(items.records, by)
  }

  /** memory held */
  get bytes () {
    return this.#tree.nodes.chunks.bytes
  }

  /** @param {number} record */
  add (record) {
    const tree = this.#tree
    const { nodes } = tree
    this.count++
    const key = this.#records.key(record, this.#key)
    if (tree.root === NONE) return tree.insert(tree.begin(key), 0, record)
    const records = this.#records
    const bytes = records.bytes(record)
    const idAt = records.idAt(record)
    const idEnd = idAt + records.idBytes(record)
    const last = tree.lastLeaf
    const count = nodes.get(last, COUNT)
    if (this.#compare(nodes.entry(last, count - 1), key, bytes, idAt, idEnd) < 0) {
      if (count < FILLED) tree.insert(last, count, record)
      else tree.insert(tree.addBehind(last, key), 0, record)
      return
    }
    const leaf = key > nodes.low(last) ? last : this.#leafOf(key, bytes, idAt, idEnd)
    tree.insert(leaf, this.#indexIn(leaf, key, bytes, idAt, idEnd), record)
  }

  /** @param {number} record in it */
  remove (record) {
    this.count--
    const leaf = this.#records.leaf(record, this.#leaf)
    this.#tree.take(leaf, this.#tree.nodes.indexOf(leaf, record))
  }

  /** @param {number} from in it @param {number} to its copy, which represents the same item now */
  replace (from, to) {
    const { nodes } = this.#tree
    const leaf = this.#records.leaf(to, this.#leaf)
    nodes.setEntry(leaf, nodes.indexOf(leaf, from), to)
  }

  /** @returns {number} record, or NONE */
  oldest () {
    const { firstLeaf, nodes } = this.#tree
    return firstLeaf === NONE ? NONE : nodes.entry(firstLeaf, 0)
  }

  /** @returns {number} position of the newest */
  end () {
    return this.#lastOf(this.#tree.lastLeaf)
  }

  /**
   * @param {number} key @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd of a place, in it or not
   * @returns {number} position of the newest record that is older
   */
  below (key, bytes, idAt, idEnd) {
    if (this.#tree.root === NONE) return NONE
    const leaf = this.#leafOf(key, bytes, idAt, idEnd)
    const index = this.#indexIn(leaf, key, bytes, idAt, idEnd)
    return index > 0 ? leaf << 6 | index - 1 : this.older(leaf << 6)
  }

  /** @param {number} position @returns {number} the next older one */
  older (position) {
    return (position & 63) > 0 ? position - 1 : this.#lastOf(this.#tree.nodes.get(position >>> 6, PREVIOUS))
  }

  /** @param {number} position @returns {number} record */
  at (position) {
    return this.#tree.nodes.entry(position >>> 6, position & 63)
  }

  /** @param {number} key @returns {number} how many records have a lower key; visits each of their leaves */
  countBelow (key) {
    const { firstLeaf, nodes } = this.#tree
    const isBelow = (/** @type {number} */ leaf, /** @type {number} */ index) =>
      this.#records.key(nodes.entry(leaf, index), this.#key) < key
    let count = 0
    let leaf = firstLeaf
    for (; leaf !== NONE && isBelow(leaf, nodes.get(leaf, COUNT) - 1); leaf = nodes.get(leaf, NEXT)) count += nodes.get(leaf, COUNT)
    if (leaf !== NONE) for (let i = 0; isBelow(leaf, i); i++) count++
    return count
  }

  /** @param {number} index below `count` @returns {number} the record there, from the oldest on; visits each leaf before it */
  fromOldest (index) {
    const { nodes } = this.#tree
    let leaf = this.#tree.firstLeaf
    for (; index >= nodes.get(leaf, COUNT); leaf = nodes.get(leaf, NEXT)) index -= nodes.get(leaf, COUNT)
    return nodes.entry(leaf, index)
  }

  /** From the oldest to the newest. @returns {Generator<number>} */
  * records () {
    const { firstLeaf, nodes } = this.#tree
    for (let leaf = firstLeaf; leaf !== NONE; leaf = nodes.get(leaf, NEXT)) {
      for (let i = 0; i < nodes.get(leaf, COUNT); i++) yield nodes.entry(leaf, i)
    }
  }

  /** Frees memory if much of it is unused. @param {number} moves at most @returns {number} moves made */
  tidy (moves) {
    const { buckets } = this.#tree.nodes
    return moves > 0 && buckets.isSparse ? buckets.drain(moves, (chunk, index) => this.#tree.moveNode(chunk, index)) : 0
  }

  /** @param {number} leaf @returns {number} position of its last record */
  #lastOf (leaf) {
    return leaf === NONE ? NONE : leaf << 6 | this.#tree.nodes.get(leaf, COUNT) - 1
  }

  /**
   * @param {number} record @param {number} key @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   * @returns {number} negative if the record is older
   */
  #compare (record, key, bytes, idAt, idEnd) {
    const recordKey = this.#records.key(record, this.#key)
    return recordKey !== key ? recordKey - key : this.#items.compareId(record, bytes, idAt, idEnd)
  }

  /**
   * The last leaf that begins at or before a place, or the first leaf.
   * @param {number} key @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   */
  #leafOf (key, bytes, idAt, idEnd) {
    const { root, nodes } = this.#tree
    let node = root
    for (let level = nodes.get(node, LEVEL); level > 0; level--) {
      let begin = 0
      let end = nodes.get(node, COUNT)
      while (end - begin > 1) {
        const middle = (begin + end) >>> 1
        const child = nodes.entry(node, middle)
        const low = nodes.low(child)
        if (low < key || (low === key && this.#compare(this.#firstOf(child), key, bytes, idAt, idEnd) <= 0)) begin = middle
        else end = middle
      }
      node = nodes.entry(node, begin)
    }
    return node
  }

  /** @param {number} node @returns {number} the oldest record under it */
  #firstOf (node) {
    const { nodes } = this.#tree
    while (nodes.get(node, LEVEL) > 0) node = nodes.entry(node, 0)
    return nodes.entry(node, 0)
  }

  /**
   * @param {number} leaf @param {number} key @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd of a place
   * @returns {number} how many records of the leaf are older
   */
  #indexIn (leaf, key, bytes, idAt, idEnd) {
    const { nodes } = this.#tree
    let begin = 0
    let end = nodes.get(leaf, COUNT)
    while (begin < end) {
      const middle = (begin + end) >>> 1
      if (this.#compare(nodes.entry(leaf, middle), key, bytes, idAt, idEnd) < 0) begin = middle + 1
      else end = middle
    }
    return begin
  }
}
