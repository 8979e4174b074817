/**
 * The record of an item: a head of 56 bytes, then id and value, in one slot of their size class. To find an item by id is
 * to look at the id table and here, in one stretch of memory.
 *
 *     0        8        16       24     28     32     36     40     44     48     52     56         56 + id
 *     +--------+--------+--------+------+------+------+------+------+------+------+------+----------+----------+- - -
 *     | order  | stamp  | arrival| hash | leaf | leaf | value| id   | next | prev | mark | id       | value    | unused
 *     | double | double | double |      | 1    | 2    | bytes| bytes|      |      |      |          |          |
 *     +--------+--------+--------+------+------+------+------+------+------+------+------+----------+----------+- - -
 *
 * order      ts * 4096 + seq, exact in a double (41 + 12 bits)
 * leaf 1     of the order in which it stands, of live items or of deletions; leaf 2: of the order of arrivals (order.js)
 * next, prev the ring of versions of the same id that wait until this one is gone (versions.js); itself when there are none
 * mark       0 or more: DELETED, WAITING; negative: a free slot (slots.js)
 *
 * A superseded version's slot is used again at once, so hot ids never keep cold ones' bytes in memory, or the other way
 * round. A record number is chunk * 4096 + slot; nothing here is an object.
 */
import { classBytes, classOf } from './size-classes.js'
import { Chunks, Slots } from './slots.js'

export const HEAD_BYTES = 56
const SLOT_BITS = 12
const SLOT_MASK = (1 << SLOT_BITS) - 1

// in doubles
const ORDER = 0
const STAMP = 1
const ARRIVAL = 2
// in ints
const HASH = 6
const LEAF = 7
const VALUE_BYTES = 9
const ID_BYTES = 10
const NEXT = 11
const PREVIOUS = 12
const MARK = 13

/** the double by which records are ordered, and where the leaf that holds them is noted */
export const BY_ORDER = Object.freeze({ key: ORDER, leaf: LEAF })
export const BY_ARRIVAL = Object.freeze({ key: ARRIVAL, leaf: LEAF + 1 })

export const DELETED = 1
export const WAITING = 2

export class Records {
  chunks = new Chunks()
  /** how many */
  count = 0
  /** bytes of the slots in use */
  usedBytes = 0
  /** @type {Slots[]} of the size classes in use */
  sizes = []
  /** @type {(Slots | undefined)[]} */
  #byClass = []

  /** @param {number} length of id and value @returns {number} a record of which only the mark, 0, is set */
  take (length) {
    const index = classOf(HEAD_BYTES + length)
    const slots = this.#byClass[index] ?? this.#begin(index)
    const chunk = slots.take()
    this.count++
    this.usedBytes += chunk.slotBytes
    const record = chunk.number << SLOT_BITS | slots.taken
    chunk.ints[slots.taken * chunk.slotInts + MARK] = 0
    return record
  }

  /** @param {number} record */
  release (record) {
    const chunk = this.chunks.list[record >>> SLOT_BITS]
    this.count--
    this.usedBytes -= chunk.slotBytes
    chunk.owner.release(chunk, record & SLOT_MASK)
  }

  /** @param {number} length of id and value @returns {number} bytes of a slot for them */
  slotBytesFor (length) {
    return classBytes(classOf(HEAD_BYTES + length))
  }

  /** @param {number} record */
  slotBytes (record) {
    return this.chunks.list[record >>> SLOT_BITS].slotBytes
  }

  /** @param {import('./slots.js').Chunk} chunk @param {number} index */
  numberOf (chunk, index) {
    return chunk.number << SLOT_BITS | index
  }

  /** Gives another record the head of one, and its place in the ring. @param {number} from @param {number} to */
  copyHead (from, to) {
    const source = this.#at(from)
    const target = this.#at(to)
    const ints = this.#ints(from)
    const targetInts = this.#ints(to)
    for (let i = 0; i < HEAD_BYTES / 4; i++) targetInts[target + i] = ints[source + i]
    const next = this.next(from)
    if (next === from) this.link(to, to)
    else {
      this.link(this.previous(from), to)
      this.link(to, next)
    }
  }

  /** @param {number} record @param {number} hash @param {number} mark @param {number} idBytes @param {number} valueBytes of one that stands alone */
  setHead (record, hash, mark, idBytes, valueBytes) {
    const ints = this.#ints(record)
    const at = this.#at(record)
    ints[at + HASH] = hash
    ints[at + VALUE_BYTES] = valueBytes
    ints[at + ID_BYTES] = idBytes
    ints[at + NEXT] = record
    ints[at + PREVIOUS] = record
    ints[at + MARK] = mark
  }

  /** @param {number} record @param {number} mark @param {number} order @param {number} stamp @param {number} arrival */
  setVersion (record, mark, order, stamp, arrival) {
    const { floats, ints, slotInts } = this.chunks.list[record >>> SLOT_BITS]
    const at = (record & SLOT_MASK) * slotInts
    floats[(at >>> 1) + ORDER] = order
    floats[(at >>> 1) + STAMP] = stamp
    floats[(at >>> 1) + ARRIVAL] = arrival
    ints[at + MARK] = mark
  }

  /** @param {number} record @param {number} bytes */
  setValueBytes (record, bytes) {
    this.#ints(record)[this.#at(record) + VALUE_BYTES] = bytes
  }

  /** @param {number} record @param {number} field of BY_ORDER or BY_ARRIVAL @param {number} leaf */
  setLeaf (record, field, leaf) {
    this.#ints(record)[this.#at(record) + field] = leaf
  }

  /** @param {number} record @param {number} mark */
  setMark (record, mark) {
    this.#ints(record)[this.#at(record) + MARK] = mark
  }

  /** @param {number} record @param {number} next that follows it in the ring */
  link (record, next) {
    this.#ints(record)[this.#at(record) + NEXT] = next
    this.#ints(next)[this.#at(next) + PREVIOUS] = record
  }

  /** @param {number} record @param {number} field of BY_ORDER or BY_ARRIVAL */
  key (record, field) {
    const { floats, slotInts } = this.chunks.list[record >>> SLOT_BITS]
    return floats[((record & SLOT_MASK) * slotInts >>> 1) + field]
  }

  /** @param {number} record @param {number} field of BY_ORDER or BY_ARRIVAL */
  leaf (record, field) {
    return this.#int(record, field)
  }

  /** @param {number} record */
  order (record) {
    return this.key(record, ORDER)
  }

  /** @param {number} record */
  stamp (record) {
    return this.key(record, STAMP)
  }

  /** @param {number} record */
  arrival (record) {
    return this.key(record, ARRIVAL)
  }

  /** @param {number} record */
  hash (record) {
    return this.#int(record, HASH)
  }

  /** @param {number} record */
  idBytes (record) {
    return this.#int(record, ID_BYTES)
  }

  /** @param {number} record */
  valueBytes (record) {
    return this.#int(record, VALUE_BYTES)
  }

  /** @param {number} record */
  next (record) {
    return this.#int(record, NEXT)
  }

  /** @param {number} record */
  previous (record) {
    return this.#int(record, PREVIOUS)
  }

  /** @param {number} record */
  mark (record) {
    return this.#int(record, MARK)
  }

  /** @param {number} record @returns {Buffer} the chunk with its id and value */
  bytes (record) {
    return this.chunks.list[record >>> SLOT_BITS].bytes
  }

  /** @param {number} record @returns {number} where in these bytes its id begins; the value follows */
  idAt (record) {
    return (record & SLOT_MASK) * this.chunks.list[record >>> SLOT_BITS].slotBytes + HEAD_BYTES
  }

  /** @param {number} record */
  #ints (record) {
    return this.chunks.list[record >>> SLOT_BITS].ints
  }

  /** @param {number} record @returns {number} where in these ints it begins */
  #at (record) {
    return (record & SLOT_MASK) * this.chunks.list[record >>> SLOT_BITS].slotInts
  }

  /** @param {number} record @param {number} field */
  #int (record, field) {
    const { ints, slotInts } = this.chunks.list[record >>> SLOT_BITS]
    return ints[(record & SLOT_MASK) * slotInts + field]
  }

  /** @param {number} index */
  #begin (index) {
    const slots = new Slots(classBytes(index), MARK, this.chunks)
    this.#byClass[index] = slots
    this.sizes.push(slots)
    return slots
  }
}
