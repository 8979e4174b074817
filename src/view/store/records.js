/**
 * The record of an item: 64 bytes, one line of the processor's cache. Its bytes lie in a slab (slabs.js).
 *
 *     0        8        16       24    28    32    36     40    44     48    52     56     60     64
 *     +--------+--------+--------+-----+-----+-----+------+-----+------+-----+------+------+------+
 *     | order  | stamp  | arrival| hash| leaf| leaf| slab | slot| value| id  | next | prev | mark |
 *     | double | double | double |     | 1   | 2   | chunk| at  | bytes|bytes|      |      |      |
 *     +--------+--------+--------+-----+-----+-----+------+-----+------+-----+------+------+------+
 *
 * order     ts * 4096 + seq, exact in a double (41 + 12 bits)
 * leaf 1    of the order in which it stands, of live items or of deletions; leaf 2: of the order of arrivals (order.js)
 * next,prev the ring of versions of the same id that wait until this one is gone (versions.js); itself when there are none
 * mark      0 or more: DELETED, WAITING; negative: a free record (slots.js)
 *
 * A record number is chunk * 4096 + slot. Every access is to the chunk's typed arrays: nothing here is an object.
 */
import { Chunks, Slots } from './slots.js'

export const RECORD_BYTES = 64
const SLOT_BITS = 12
const SLOT_MASK = (1 << SLOT_BITS) - 1

// in doubles
const ORDER = 0
const STAMP = 1
const ARRIVAL = 2
// in ints
const HASH = 6
const LEAF = 7
const SLAB_CHUNK = 9
const SLOT_AT = 10
const VALUE_BYTES = 11
const ID_BYTES = 12
const NEXT = 13
const PREVIOUS = 14
const MARK = 15

/** the doubles by which records are ordered, and where the leaf that holds them is noted */
export const BY_ORDER = Object.freeze({ key: ORDER, leaf: LEAF })
export const BY_ARRIVAL = Object.freeze({ key: ARRIVAL, leaf: LEAF + 1 })

export const DELETED = 1
export const WAITING = 2

export class Records {
  chunks = new Chunks()
  slots = new Slots(RECORD_BYTES, MARK, this.chunks)

  /** @param {number} hash @param {number} mark @returns {number} a record that stands alone */
  take (hash, mark) {
    const chunk = this.slots.take()
    const record = chunk.number << SLOT_BITS | this.slots.taken
    const at = this.slots.taken << 4
    chunk.ints[at + HASH] = hash
    chunk.ints[at + NEXT] = record
    chunk.ints[at + PREVIOUS] = record
    chunk.ints[at + MARK] = mark
    return record
  }

  /** @param {number} record */
  release (record) {
    this.slots.release(this.chunks.list[record >>> SLOT_BITS], record & SLOT_MASK)
  }

  /** @param {number} from @param {number} to @returns {void} everything but where they are noted */
  copy (from, to) {
    const at = (from & SLOT_MASK) << 4
    const ints = this.#ints(from)
    this.#ints(to).set(ints.subarray(at, at + RECORD_BYTES / 4), (to & SLOT_MASK) << 4)
  }

  /** @param {import('./slots.js').Chunk} chunk @param {number} index */
  numberOf (chunk, index) {
    return chunk.number << SLOT_BITS | index
  }

  /** @param {number} record @param {number} order @param {number} stamp @param {number} arrival */
  setVersion (record, order, stamp, arrival) {
    const { floats } = this.chunks.list[record >>> SLOT_BITS]
    const at = (record & SLOT_MASK) << 3
    floats[at + ORDER] = order
    floats[at + STAMP] = stamp
    floats[at + ARRIVAL] = arrival
  }

  /** @param {number} record @param {number} slabChunk @param {number} slotAt offset in it @param {number} idBytes @param {number} valueBytes */
  setBytes (record, slabChunk, slotAt, idBytes, valueBytes) {
    const ints = this.#ints(record)
    const at = (record & SLOT_MASK) << 4
    ints[at + SLAB_CHUNK] = slabChunk
    ints[at + SLOT_AT] = slotAt
    ints[at + ID_BYTES] = idBytes
    ints[at + VALUE_BYTES] = valueBytes
  }

  /** @param {number} record @param {number} bytes */
  setValueBytes (record, bytes) {
    this.#ints(record)[((record & SLOT_MASK) << 4) + VALUE_BYTES] = bytes
  }

  /** @param {number} record @param {number} field of BY_ORDER or BY_ARRIVAL @param {number} leaf */
  setLeaf (record, field, leaf) {
    this.#ints(record)[((record & SLOT_MASK) << 4) + field] = leaf
  }

  /** @param {number} record @param {number} mark */
  setMark (record, mark) {
    this.#ints(record)[((record & SLOT_MASK) << 4) + MARK] = mark
  }

  /** @param {number} record @param {number} next that follows it in the ring */
  link (record, next) {
    this.#ints(record)[((record & SLOT_MASK) << 4) + NEXT] = next
    this.#ints(next)[((next & SLOT_MASK) << 4) + PREVIOUS] = record
  }

  /** @param {number} record @param {number} field of BY_ORDER or BY_ARRIVAL */
  key (record, field) {
    return this.chunks.list[record >>> SLOT_BITS].floats[((record & SLOT_MASK) << 3) + field]
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
  slabChunk (record) {
    return this.#int(record, SLAB_CHUNK)
  }

  /** @param {number} record */
  slotAt (record) {
    return this.#int(record, SLOT_AT)
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

  /** @param {number} record */
  #ints (record) {
    return this.chunks.list[record >>> SLOT_BITS].ints
  }

  /** @param {number} record @param {number} field */
  #int (record, field) {
    return this.chunks.list[record >>> SLOT_BITS].ints[((record & SLOT_MASK) << 4) + field]
  }
}
