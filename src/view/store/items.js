/**
 * Items in memory: a record (records.js) and the bytes of id and value (slabs.js), and how they are written, compared
 * and moved. What leads to a record is noted elsewhere: by id (id-table.js), by order and by arrival (order.js).
 */
import { Records } from './records.js'
import { SLOT_HEAD_BYTES, Slabs } from './slabs.js'

/** below this a loop beats a call into C++ */
const SHORT = 32

export class Items {
  records = new Records()
  slabs = new Slabs()

  /**
   * @param {number} hash @param {number} mark @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   * @param {number} valueAt @param {number} valueEnd
   * @returns {number} its record, without version
   */
  add (hash, mark, bytes, idAt, idEnd, valueAt, valueEnd) {
    const record = this.records.take(hash, mark)
    this.#writeNew(record, bytes, idAt, idEnd, valueAt, valueEnd)
    return record
  }

  /** @param {number} record @param {Uint8Array} bytes with the same id @param {number} idAt @param {number} idEnd @param {number} valueAt @param {number} valueEnd */
  rewrite (record, bytes, idAt, idEnd, valueAt, valueEnd) {
    const { records, slabs } = this
    const number = records.slabChunk(record)
    const slotAt = records.slotAt(record)
    if (slabs.slotBytes(idEnd - idAt + valueEnd - valueAt) === this.slotBytes(record)) {
      copy(slabs.chunks.list[number].bytes, slotAt + SLOT_HEAD_BYTES + idEnd - idAt, bytes, valueAt, valueEnd)
      records.setValueBytes(record, valueEnd - valueAt)
    } else {
      slabs.release(number, slotAt)
      this.#writeNew(record, bytes, idAt, idEnd, valueAt, valueEnd)
    }
  }

  /** @param {number} record */
  release (record) {
    this.slabs.release(this.records.slabChunk(record), this.records.slotAt(record))
    this.records.release(record)
  }

  /** @param {number} record @returns {number} bytes of the slot that holds its bytes */
  slotBytes (record) {
    return this.slabs.chunks.list[this.records.slabChunk(record)].owner.slotBytes
  }

  /** @param {number} record @returns {Buffer} the chunk with its bytes */
  bytes (record) {
    return this.slabs.chunks.list[this.records.slabChunk(record)].bytes
  }

  /** @param {number} record @returns {number} where its id begins; the value follows it */
  idAt (record) {
    return this.records.slotAt(record) + SLOT_HEAD_BYTES
  }

  /** @param {number} record @param {Uint8Array} bytes @param {number} at @param {number} end */
  isId (record, bytes, at, end) {
    const length = this.records.idBytes(record)
    return length === end - at && isSame(this.bytes(record), this.idAt(record), bytes, at, length)
  }

  /** @param {number} record @param {Uint8Array} bytes @param {number} at @param {number} end */
  isValue (record, bytes, at, end) {
    const length = this.records.valueBytes(record)
    return length === end - at && isSame(this.bytes(record), this.idAt(record) + this.records.idBytes(record), bytes, at, length)
  }

  /** @param {number} record @param {Uint8Array} bytes @param {number} at @param {number} end @returns {number} negative when the record's id comes first */
  compareId (record, bytes, at, end) {
    const own = this.bytes(record)
    const ownAt = this.idAt(record)
    const length = this.records.idBytes(record)
    const common = Math.min(length, end - at)
    for (let i = 0; i < common; i++) {
      const difference = own[ownAt + i] - bytes[at + i]
      if (difference !== 0) return difference
    }
    return length - (end - at)
  }

  /** Copies the bytes of a slot into another one. @param {import('./slots.js').Chunk} chunk @param {number} index */
  moveBytes (chunk, index) {
    const { records, slabs } = this
    const slotAt = index * chunk.owner.slotBytes
    const record = chunk.ints[slotAt >>> 2]
    const idBytes = records.idBytes(record)
    const valueBytes = records.valueBytes(record)
    this.#writeNew(record, chunk.bytes, slotAt + SLOT_HEAD_BYTES, slotAt + SLOT_HEAD_BYTES + idBytes, slotAt + SLOT_HEAD_BYTES + idBytes, slotAt + SLOT_HEAD_BYTES + idBytes + valueBytes)
    slabs.release(chunk.number, slotAt)
  }

  /** Gives an item another record. The caller changes what leads to it. @param {number} from @returns {number} the record it has now */
  moveRecord (from) {
    const { records, slabs } = this
    const to = records.take(0, 0)
    const next = records.next(from)
    const previous = records.previous(from)
    records.copy(from, to)
    slabs.setRecord(records.slabChunk(to), records.slotAt(to), to)
    records.link(to, next === from ? to : next)
    if (previous !== from) records.link(previous, to)
    return to
  }

  /** @param {number} record @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {number} valueAt @param {number} valueEnd */
  #writeNew (record, bytes, idAt, idEnd, valueAt, valueEnd) {
    const { slabs } = this
    const idBytes = idEnd - idAt
    const chunk = slabs.take(idBytes + valueEnd - valueAt, record)
    const at = slabs.takenAt
    if (idEnd === valueAt) copy(chunk.bytes, at + SLOT_HEAD_BYTES, bytes, idAt, valueEnd)
    else {
      copy(chunk.bytes, at + SLOT_HEAD_BYTES, bytes, idAt, idEnd)
      copy(chunk.bytes, at + SLOT_HEAD_BYTES + idBytes, bytes, valueAt, valueEnd)
    }
    this.records.setBytes(record, chunk.number, at, idBytes, valueEnd - valueAt)
  }
}

/** @param {Buffer} target @param {number} at @param {Uint8Array} bytes @param {number} from @param {number} end */
function copy (target, at, bytes, from, end) {
  if (end - from < SHORT) for (let i = from; i < end; i++) target[at++] = bytes[i]
  // `copy` and `subarray` make the same view, and take longer
  else target.set(new Uint8Array(bytes.buffer, bytes.byteOffset + from, end - from), at)
}

/** @param {Uint8Array} a @param {number} aAt @param {Uint8Array} b @param {number} bAt @param {number} length */
function isSame (a, aAt, b, bAt, length) {
  for (let i = 0; i < length; i++) if (a[aAt + i] !== b[bAt + i]) return false
  return true
}
