/**
 * The bytes of items, in slots by size class, so that those of a superseded item are used again at once and hot ids never
 * keep the bytes of cold ones in memory, or the other way round.
 *
 *     0        4         4 + id
 *     +--------+---------+------------------+- - - - -
 *     | record | id      | value            | unused
 *     | int    |         |                  |
 *     +--------+---------+------------------+- - - - -
 *
 * Classes: each 16 bytes up to 128, then eight for each doubling, so at most an eighth of a slot is unused beyond that.
 * The record number leads back from the bytes to their record when a chunk is drained.
 */
import { Chunks, Slots } from './slots.js'

export const SLOT_HEAD_BYTES = 4
const STEP = 16
const EVEN_CLASSES = 8
const RECORD_AT = 0

/** @param {number} bytes @returns {number} the class of slots for so many bytes */
export function classOf (bytes) {
  if (bytes <= STEP * EVEN_CLASSES) return (bytes + STEP - 1) >>> 4
  const shift = 28 - Math.clz32(bytes - 1)
  return (shift - 3) * EVEN_CLASSES + ((bytes - 1) >>> shift) - EVEN_CLASSES + 1
}

/** @param {number} index of a class @returns {number} bytes of its slots */
export function classBytes (index) {
  if (index <= EVEN_CLASSES) return index * STEP
  const shift = (index - 1 >>> 3) + 3
  return ((index - 1 & 7) + EVEN_CLASSES + 1) << shift
}

export class Slabs {
  chunks = new Chunks()
  /** bytes of slots in use */
  used = 0
  /** where in its chunk `take` gave a slot, bytes */
  takenAt = 0
  /** @type {Slots[]} by class, those in use */
  sizes = []
  /** @type {(Slots | undefined)[]} */
  #byClass = []

  /** @param {number} bytes of id and value @param {number} record @returns {import('./slots.js').Chunk} with the slot at `takenAt` */
  take (bytes, record) {
    const index = classOf(bytes + SLOT_HEAD_BYTES)
    const slots = this.#byClass[index] ?? this.#begin(index)
    const chunk = slots.take()
    this.takenAt = slots.taken * slots.slotBytes
    this.used += slots.slotBytes
    chunk.ints[this.takenAt >>> 2] = record
    return chunk
  }

  /** @param {number} number of a chunk @param {number} at of a slot in it, bytes */
  release (number, at) {
    const chunk = this.chunks.list[number]
    const { slotBytes } = chunk.owner
    this.used -= slotBytes
    chunk.owner.release(chunk, at / slotBytes)
  }

  /** @param {number} bytes of id and value @returns {number} bytes of the slot for them */
  slotBytes (bytes) {
    return classBytes(classOf(bytes + SLOT_HEAD_BYTES))
  }

  /** @param {number} number of a chunk @param {number} at @param {number} record */
  setRecord (number, at, record) {
    this.chunks.list[number].ints[at >>> 2] = record
  }

  /** @param {number} index */
  #begin (index) {
    const slots = new Slots(classBytes(index), RECORD_AT, this.chunks)
    this.#byClass[index] = slots
    this.sizes.push(slots)
    return slots
  }
}
