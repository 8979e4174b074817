/**
 * Cuts bytes into records at their newlines, and counts lines.
 *
 * A record that lies in one chunk is handed out as a view of it; one that began in an earlier chunk is copied out of
 * `held`, which grows by doubling (bytes may arrive one by one) and never beyond the limit. Of a record over the
 * limit nothing is held: it is reported at once, and its bytes are passed over up to its end.
 */

const NEWLINE = 10
const CARRIAGE_RETURN = 13
const NOTHING = Buffer.alloc(0)

/** @typedef {import('./records.js').Entry} Entry */

/**
 * @param {number} maxRecordBytes without the newline
 * @param {(chunk: Buffer, from: number, to: number) => boolean} [isInside] whether a newline at `to` would be part of
 *   the record (a quoted one). It is shown every byte exactly once, in order
 */
export function createCutter (maxRecordBytes, isInside = () => false) {
  let held = NOTHING
  let heldBytes = 0
  let skipping = false
  let line = 1
  let place = 1
  /** @type {Entry[]} */
  let records = []

  /** @param {Buffer} bytes */
  function hold (bytes) {
    const length = heldBytes + bytes.length
    if (length > held.length) {
      const larger = Buffer.allocUnsafe(Math.min(2 * length, maxRecordBytes))
      held.copy(larger, 0, 0, heldBytes)
      held = larger
    }
    bytes.copy(held, heldBytes)
    heldBytes = length
  }

  function skip () {
    records.push(refused(place, `longer than ${maxRecordBytes.toLocaleString('en')} bytes`))
    heldBytes = 0
    skipping = true
  }

  /** @param {Buffer} bytes of a record that goes on in the next chunk */
  function keep (bytes) {
    if (skipping) return
    if (heldBytes + bytes.length > maxRecordBytes) skip()
    else hold(bytes)
  }

  /** @param {Buffer} bytes the last of a record */
  function finish (bytes) {
    if (!skipping && heldBytes + bytes.length > maxRecordBytes) skip()
    if (!skipping) push(bytes)
    skipping = false
    place = line
  }

  /** @param {Buffer} bytes */
  function push (bytes) {
    if (heldBytes > 0) {
      hold(bytes)
      bytes = Buffer.from(held.subarray(0, heldBytes))
      heldBytes = 0
    }
    if (bytes[bytes.length - 1] === CARRIAGE_RETURN) bytes = bytes.subarray(0, -1)
    if (bytes.length > 0) records.push({ place, record: null, text: bytes, fault: null })
  }

  function handOver () {
    const complete = records
    records = []
    return complete
  }

  return {
    /** @param {Buffer} chunk @returns {Entry[]} the records that end in it, without their line ends and without empty ones */
    cut (chunk) {
      let start = 0
      let shown = 0
      for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, newline + 1)) {
        line++
        const inside = isInside(chunk, shown, newline)
        shown = newline
        if (inside) continue
        finish(chunk.subarray(start, newline))
        start = newline + 1
      }
      isInside(chunk, shown, chunk.length)
      if (start < chunk.length) keep(chunk.subarray(start))
      return handOver()
    },

    /** @returns {Entry[]} the last record, if no newline followed it */
    end () {
      finish(NOTHING)
      return handOver()
    }
  }
}

/** @param {number} place @param {string} fault @returns {Entry} */
export const refused = (place, fault) => ({ place, record: null, text: null, fault })
