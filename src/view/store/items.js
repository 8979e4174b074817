/**
 * Writes, compares and moves the bytes of records (records.js). The indexes of records are elsewhere: by id (id-table.js), by
 * order and by arrival (order.js).
 */
import { Records } from './records.js'

/** bytes: shorter ones are copied by a loop, without a call into C++ */
const SHORT = 32

export class Items {
  records = new Records()

  /**
   * @param {number} hash @param {number} mark @param {number} order @param {number} stamp @param {number} arrival
   * @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {number} valueAt @param {number} valueEnd
   * @returns {number} its record
   */
  add (hash, mark, order, stamp, arrival, bytes, idAt, idEnd, valueAt, valueEnd) {
    const { records } = this
    const record = records.take(idEnd - idAt + valueEnd - valueAt)
    records.setHead(record, hash, mark, idEnd - idAt, valueEnd - valueAt)
    records.setVersion(record, mark, order, stamp, arrival)
    writeItem(records, record, bytes, idAt, idEnd, valueAt, valueEnd)
    return record
  }

  /**
   * Replaces the value of an item.
   * @param {number} record @param {Uint8Array} bytes with the same id @param {number} idAt @param {number} idEnd
   * @param {number} valueAt @param {number} valueEnd
   * @returns {number} its record now: a different one if the size class differs. The caller updates the indexes
   */
  rewrite (record, bytes, idAt, idEnd, valueAt, valueEnd) {
    const { records } = this
    const length = idEnd - idAt + valueEnd - valueAt
    let target = record
    if (records.bucketBytesFor(length) === records.bucketBytes(record)) {
      copy(records.bytes(record), records.idAt(record) + idEnd - idAt, bytes, valueAt, valueEnd)
    } else {
      target = records.take(length)
      records.copyHead(record, target)
      records.release(record)
      writeItem(records, target, bytes, idAt, idEnd, valueAt, valueEnd)
    }
    records.setValueBytes(target, valueEnd - valueAt)
    return target
  }

  /** Moves an item to another record. The caller updates the indexes. @param {number} from @returns {number} its record now */
  move (from) {
    const { records } = this
    const length = records.idBytes(from) + records.valueBytes(from)
    const to = records.take(length)
    records.copyHead(from, to)
    copy(records.bytes(to), records.idAt(to), records.bytes(from), records.idAt(from), records.idAt(from) + length)
    records.release(from)
    return to
  }

  /** @param {number} record @param {Uint8Array} bytes @param {number} at @param {number} end */
  isId (record, bytes, at, end) {
    const length = this.records.idBytes(record)
    return length === end - at && isSame(this.records.bytes(record), this.records.idAt(record), bytes, at, length)
  }

  /** @param {number} record @param {Uint8Array} bytes @param {number} at @param {number} end */
  isValue (record, bytes, at, end) {
    const { records } = this
    const length = records.valueBytes(record)
    return length === end - at && isSame(records.bytes(record), records.idAt(record) + records.idBytes(record), bytes, at, length)
  }

  /**
   * @param {number} record @param {Uint8Array} bytes @param {number} at @param {number} end
   * @returns {number} negative if the record's id is smaller
   */
  compareId (record, bytes, at, end) {
    const recordBytes = this.records.bytes(record)
    const recordAt = this.records.idAt(record)
    const length = this.records.idBytes(record)
    const common = Math.min(length, end - at)
    for (let i = 0; i < common; i++) {
      const difference = recordBytes[recordAt + i] - bytes[at + i]
      if (difference !== 0) return difference
    }
    return length - (end - at)
  }
}

/**
 * @param {Records} records @param {number} record
 * @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd @param {number} valueAt @param {number} valueEnd
 */
function writeItem (records, record, bytes, idAt, idEnd, valueAt, valueEnd) {
  const target = records.bytes(record)
  const at = records.idAt(record)
  if (idEnd === valueAt) return copy(target, at, bytes, idAt, valueEnd)
  copy(target, at, bytes, idAt, idEnd)
  copy(target, at + idEnd - idAt, bytes, valueAt, valueEnd)
}

/** @param {Buffer} target @param {number} at @param {Uint8Array} bytes @param {number} from @param {number} end */
function copy (target, at, bytes, from, end) {
  if (end - from < SHORT) for (let i = from; i < end; i++) target[at++] = bytes[i]
  // not `copy` or `subarray`: they create the same view with more work
  else target.set(new Uint8Array(bytes.buffer, bytes.byteOffset + from, end - from), at)
}

/** @param {Uint8Array} a @param {number} aAt @param {Uint8Array} b @param {number} bAt @param {number} length */
function isSame (a, aAt, b, bAt, length) {
  for (let i = 0; i < length; i++) if (a[aAt + i] !== b[bAt + i]) return false
  return true
}
