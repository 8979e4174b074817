/**
 * A place at or below which nothing is live. Its id has a fixed buffer, because a floor may rise with each item.
 */
import { MAX_ID_BYTES } from '../../item/index.js'

const SEQ_STEPS = 4096

export class Floor {
  /** ts * 4096 + seq, or -1 for none */
  order = -1
  id = Buffer.alloc(MAX_ID_BYTES)
  idBytes = 0

  /** @param {number} order @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd */
  set (order, bytes, idAt, idEnd) {
    this.order = order
    this.idBytes = idEnd - idAt
    for (let i = 0; i < this.idBytes; i++) this.id[i] = bytes[idAt + i]
  }

  clear () {
    this.order = -1
  }

  /**
   * @param {number} order @param {Uint8Array} bytes @param {number} idAt @param {number} idEnd
   * @returns {boolean} whether that place is at or below it
   */
  covers (order, bytes, idAt, idEnd) {
    if (order !== this.order) return order < this.order
    const common = Math.min(this.idBytes, idEnd - idAt)
    for (let i = 0; i < common; i++) if (bytes[idAt + i] !== this.id[i]) return bytes[idAt + i] < this.id[i]
    return idEnd - idAt <= this.idBytes
  }

  /** @returns {import('../../item/index.js').Place | null} */
  place () {
    return this.order < 0 ? null : { ...unpacked(this.order), id: Buffer.from(this.id.subarray(0, this.idBytes)) }
  }
}

/** @param {number} ts @param {number} seq @returns {number} the pair as one double, exact */
export const packed = (ts, seq) => ts * SEQ_STEPS + seq

/** @param {number} order @returns {{ ts: number, seq: number }} */
export function unpacked (order) {
  const ts = Math.floor(order / SEQ_STEPS)
  return { ts, seq: order - ts * SEQ_STEPS }
}
