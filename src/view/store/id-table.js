/**
 * From the hash of an id to the record of its item.
 *
 *     directory by the upper bits      parts, with linear probing
 *     00 ---------------------------->  [ hash, record + 1 | hash, 0 (nothing) | hash, record + 1 | ... ]
 *     01 ---------------------------->  [ ... ]
 *     10 --+------------------------->  [ ... ]
 *     11 --+
 *
 * Extendible hashing (Fagin and others, 1979): a full part of 4,096 entries is split in two by one more bit, so growing costs
 * the time of one part. A single table would pause for as long as doubling takes. A part shrinks when it is an eighth full. A
 * part that splitting would not halve, because hashes are equal, grows instead.
 */
import { randomBytes } from 'node:crypto'
import { NONE } from './buckets.js'

/**
 * A 32-bit hash of an id's bytes: HalfSipHash-1-3 with a random key per process, so clients cannot choose ids that collide.
 * Source: Aumasson and Bernstein, SipHash: a fast short-input PRF, and its 32-bit form in
 * https://github.com/veorq/SipHash (halfsiphash.c)
 */

const key = randomBytes(8)
const KEY_0 = key.readInt32LE(0)
const KEY_1 = key.readInt32LE(4)
const FINAL_ROUNDS = 3

/** @param {Uint8Array} bytes @param {number} at @param {number} end @returns {number} a signed 32-bit integer */
export function idHash (bytes, at, end) {
  let v0 = KEY_0
  let v1 = KEY_1
  let v2 = KEY_0 ^ 0x6c796765
  let v3 = KEY_1 ^ 0x74656462
  const length = end - at
  // words of four bytes, then the remaining bytes with the length, then the final rounds
  const words = length >>> 2
  for (let i = 0; i <= words + FINAL_ROUNDS; i++) {
    let word = 0
    if (i < words) {
      word = bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | bytes[at + 3] << 24
      at += 4
    } else if (i === words) {
      word = length << 24
      for (let shift = 0; at < end; shift += 8) word |= bytes[at++] << shift
    } else if (i === words + 1) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = (v1 << 5 | v1 >>> 27) ^ v0
    v0 = v0 << 16 | v0 >>> 16
    v2 = (v2 + v3) | 0
    v3 = (v3 << 8 | v3 >>> 24) ^ v2
    v0 = (v0 + v3) | 0
    v3 = (v3 << 7 | v3 >>> 25) ^ v0
    v2 = (v2 + v1) | 0
    v1 = (v1 << 13 | v1 >>> 19) ^ v2
    v2 = v2 << 16 | v2 >>> 16
    v0 ^= word
  }
  return v1 ^ v3
}

const MIN_SLOTS = 16
const MAX_SLOTS = 4096
const MAX_DEPTH = 20

/** The records whose hashes begin with the same `depth` bits. */
class Part {
  used = 0

  /** @param {number} count a power of two @param {number} depth */
  constructor (count, depth) {
    this.depth = depth
    this.mask = count - 1
    this.slots = new Int32Array(count * 2)
  }

  /** @param {number} hash @param {number} record not in it yet; there is room */
  add (hash, record) {
    const { slots, mask } = this
    let i = hash & mask
    while (slots[2 * i + 1] !== 0) i = (i + 1) & mask
    slots[2 * i] = hash
    slots[2 * i + 1] = record + 1
    this.used++
  }

  /** @param {number} hash @param {number} record @returns {number} its index */
  slotOf (hash, record) {
    const { slots, mask } = this
    let i = hash & mask
    while (slots[2 * i + 1] !== record + 1) i = (i + 1) & mask
    return i
  }

  /** Moves the following entries up, so no search ends too early. @param {number} hash @param {number} record */
  remove (hash, record) {
    const { slots, mask } = this
    let gap = this.slotOf(hash, record)
    for (let i = (gap + 1) & mask; slots[2 * i + 1] !== 0; i = (i + 1) & mask) {
      const homeSlot = slots[2 * i] & mask
      if (((i - homeSlot) & mask) < ((i - gap) & mask)) continue
      slots[2 * gap] = slots[2 * i]
      slots[2 * gap + 1] = slots[2 * i + 1]
      gap = i
    }
    slots[2 * gap + 1] = 0
    this.used--
  }
}

export class IdTable {
  /** memory held */
  bytes = MIN_SLOTS * 8
  #depth = 0
  #directory = [new Part(MIN_SLOTS, 0)]
  #items

  /** @param {import('./items.js').Items} items */
  constructor (items) {
    this.#items = items
  }

  /** @param {number} hash @param {Uint8Array} bytes @param {number} at @param {number} end @returns {number} record, or NONE */
  find (hash, bytes, at, end) {
    const { slots, mask } = this.#directory[this.#indexOf(hash)]
    for (let i = hash & mask; ; i = (i + 1) & mask) {
      const entry = slots[2 * i + 1]
      if (entry === 0) return NONE
      if (slots[2 * i] === hash && this.#items.isId(entry - 1, bytes, at, end)) return entry - 1
    }
  }

  /** @param {number} hash @param {number} record whose id is not in it yet */
  add (hash, record) {
    let part = this.#directory[this.#indexOf(hash)]
    while ((part.used + 1) * 3 > (part.mask + 1) * 2) part = this.#grow(part, hash)
    part.add(hash, record)
  }

  /** @param {number} hash @param {number} record */
  remove (hash, record) {
    const part = this.#directory[this.#indexOf(hash)]
    part.remove(hash, record)
    if (part.used * 8 < part.mask && part.mask >= MIN_SLOTS) this.#resized(part, (part.mask + 1) / 2)
  }

  /** @param {number} hash @param {number} from @param {number} to the record that represents the same id now */
  replace (hash, from, to) {
    const part = this.#directory[this.#indexOf(hash)]
    part.slots[2 * part.slotOf(hash, from) + 1] = to + 1
  }

  /** @param {number} hash @returns {number} its upper bits; in two shifts, as one by 32 is one by 0 */
  #indexOf (hash) {
    return (hash >>> 1) >>> (31 - this.#depth)
  }

  /** @param {Part} part @param {number} hash @returns {Part} of the hash now */
  #grow (part, hash) {
    if (part.mask + 1 < MAX_SLOTS || part.depth === MAX_DEPTH || !this.#isHalved(part)) this.#resized(part, (part.mask + 1) * 2)
    else this.#split(part)
    return this.#directory[this.#indexOf(hash)]
  }

  /** @param {Part} part @param {number} count */
  #resized (part, count) {
    const before = part.slots
    this.bytes += count * 8 - before.length * 4
    part.slots = new Int32Array(count * 2)
    part.mask = count - 1
    part.used = 0
    for (let i = 0; i < before.length; i += 2) if (before[i + 1] !== 0) part.add(before[i], before[i + 1] - 1)
  }

  /** @param {Part} part */
  #isHalved ({ slots, depth, used }) {
    let ones = 0
    for (let i = 0; i < slots.length; i += 2) if (slots[i + 1] !== 0) ones += bitOf(slots[i], depth)
    return Math.min(ones, used - ones) > used / 8
  }

  /** @param {Part} part */
  #split ({ slots, mask, depth }) {
    if (depth === this.#depth) {
      this.#directory = this.#directory.flatMap((part) => [part, part])
      this.#depth++
    }
    const halves = [new Part(mask + 1, depth + 1), new Part(mask + 1, depth + 1)]
    let first = -1
    for (let i = 0; i < slots.length; i += 2) {
      if (slots[i + 1] === 0) continue
      halves[bitOf(slots[i], depth)].add(slots[i], slots[i + 1] - 1)
      first = slots[i]
    }
    this.bytes += slots.length * 4
    // all hashes of the part begin with the same bits
    const span = 1 << (this.#depth - depth)
    const from = this.#indexOf(first) & -span
    this.#directory.fill(halves[0], from, from + span / 2).fill(halves[1], from + span / 2, from + span)
  }
}

/** @param {number} hash @param {number} depth @returns {number} the bit behind the first `depth` ones */
const bitOf = (hash, depth) => hash >>> (31 - depth) & 1
