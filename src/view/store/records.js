/**
 * The record of an item: a head of 56 bytes, then id and value, in one bucket of their size class. A lookup by id reads the id
 * table and one contiguous record.
 *
 *     0        8        16       24     28     32     36     40     44     48     52     56         56 + id
 *     +--------+--------+--------+------+------+------+------+------+------+------+------+----------+----------+- - -
 *     | order  | stamp  | arrival| hash | leaf | leaf | value| id   | next | prev | mark | id       | value    | unused
 *     | double | double | double |      | 1    | 2    | bytes| bytes|      |      |      |          |          |
 *     +--------+--------+--------+------+------+------+------+------+------+------+------+----------+----------+- - -
 *
 * order      ts * 4096 + seq, exact in a double (41 + 12 bits)
 * leaf 1     in the order of live items or of deletions; leaf 2: in the order of arrivals (order.js)
 * next, prev the ring of waiting versions of the same id; the record itself if there are none
 * mark       0 or more: DELETED, WAITING; negative: a free bucket (buckets.js)
 *
 * The bucket of a superseded version is reused at once. A record is identified by a number, chunk * 4096 + bucket; it is no
 * object.
 */
import { Buckets, Chunks } from './buckets.js'

/**
 * Size classes: each 16 bytes up to 128, then eight for each doubling. Beyond 128 bytes at most a ninth of a bucket is
 * unused.
 */
const STEP = 16
const EVEN_CLASSES = 8

/** @param {number} bytes @returns {number} the class of buckets for so many */
export function classOf (bytes) {
  if (bytes <= STEP * EVEN_CLASSES) return (bytes + STEP - 1) >>> 4
  const shift = 28 - Math.clz32(bytes - 1)
  return (shift - 3) * EVEN_CLASSES + ((bytes - 1) >>> shift) - EVEN_CLASSES + 1
}

/** @param {number} index of a class @returns {number} bytes of its buckets */
export function classBytes (index) {
  if (index <= EVEN_CLASSES) return index * STEP
  const shift = (index - 1 >>> 3) + 3
  return ((index - 1 & 7) + EVEN_CLASSES + 1) << shift
}

const HEAD_BYTES = 56
const BUCKET_BITS = 12
const BUCKET_MASK = (1 << BUCKET_BITS) - 1

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

/** fields of an order: its key (a double), and the leaf that holds the record */
export const BY_ORDER = Object.freeze({ key: ORDER, leaf: LEAF })
export const BY_ARRIVAL = Object.freeze({ key: ARRIVAL, leaf: LEAF + 1 })

export const DELETED = 1
export const WAITING = 2

export class Records {
  chunks = new Chunks()
  /** number of records */
  count = 0
  /** bytes of the buckets in use */
  usedBytes = 0
  /** @type {Buckets[]} of the size classes in use */
  sizes = []
  /** @type {(Buckets | undefined)[]} */
  #byClass = []

  /** @param {number} length of id and value @returns {number} a record whose mark is 0; the rest is not set */
  take (length) {
    const index = classOf(HEAD_BYTES + length)
    const buckets = this.#byClass[index] ?? this.#begin(index)
    const chunk = buckets.take()
    this.count++
    this.usedBytes += chunk.bucketBytes
    const record = chunk.number << BUCKET_BITS | buckets.taken
    chunk.ints[buckets.taken * chunk.bucketInts + MARK] = 0
    return record
  }

  /** @param {number} record */
  release (record) {
    const chunk = this.chunks.list[record >>> BUCKET_BITS]
    this.count--
    this.usedBytes -= chunk.bucketBytes
    chunk.owner.release(chunk, record & BUCKET_MASK)
  }

  /** @param {number} length of id and value @returns {number} size of a bucket for them */
  bucketBytesFor (length) {
    return classBytes(classOf(HEAD_BYTES + length))
  }

  /** @param {number} record */
  bucketBytes (record) {
    return this.chunks.list[record >>> BUCKET_BITS].bucketBytes
  }

  /** @param {import('./buckets.js').Chunk} chunk @param {number} index */
  numberOf (chunk, index) {
    return chunk.number << BUCKET_BITS | index
  }

  /** Copies the head of a record, and moves its place in the ring. @param {number} from @param {number} to */
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

  /**
   * For a record without waiting versions.
   * @param {number} record @param {number} hash @param {number} mark @param {number} idBytes @param {number} valueBytes
   */
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
    const { floats, ints, bucketInts } = this.chunks.list[record >>> BUCKET_BITS]
    const at = (record & BUCKET_MASK) * bucketInts
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
    const { floats, bucketInts } = this.chunks.list[record >>> BUCKET_BITS]
    return floats[((record & BUCKET_MASK) * bucketInts >>> 1) + field]
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
    return this.chunks.list[record >>> BUCKET_BITS].bytes
  }

  /** @param {number} record @returns {number} where its id begins in these bytes; the value follows */
  idAt (record) {
    return (record & BUCKET_MASK) * this.chunks.list[record >>> BUCKET_BITS].bucketBytes + HEAD_BYTES
  }

  /** @param {number} record */
  #ints (record) {
    return this.chunks.list[record >>> BUCKET_BITS].ints
  }

  /** @param {number} record @returns {number} where it begins in these ints */
  #at (record) {
    return (record & BUCKET_MASK) * this.chunks.list[record >>> BUCKET_BITS].bucketInts
  }

  /** @param {number} record @param {number} field */
  #int (record, field) {
    const { ints, bucketInts } = this.chunks.list[record >>> BUCKET_BITS]
    return ints[(record & BUCKET_MASK) * bucketInts + field]
  }

  /** @param {number} index */
  #begin (index) {
    const buckets = new Buckets(classBytes(index), MARK, this.chunks)
    this.#byClass[index] = buckets
    this.sizes.push(buckets)
    return buckets
  }
}
