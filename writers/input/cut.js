/**
 * Cuts bytes into records at newlines, and counts lines.
 *
 * A record within one chunk is a view of the chunk. A record that began in an earlier chunk is copied from a buffer that grows up
 * to the limit. Of a longer record only the first bytes are kept: it is reported once, and its rest is skipped.
 */

/** of a refused record that are reported; one more is kept, which shows that there are more */
export const RAW_BYTES = 4096

const NEWLINE = 10
const CARRIAGE_RETURN = 13
const NOTHING = Buffer.alloc(0)

/** @typedef {import('./records.js').Entry} Entry */

/**
 * @param {number} maxRecordBytes without the newline
 * @param {(chunk: Buffer, from: number, to: number) => boolean} [isInside] whether a newline at `to` is part of the record (quoted);
 *   gets every byte once, in order
 */
export function createCutter (maxRecordBytes, isInside = () => false) {
  const held = createHeld(maxRecordBytes)
  let skipping = false
  let line = 1
  let place = 1
  /** @type {Entry[]} */
  let records = []

  /** @param {Buffer} bytes of a record that is too long with them */
  function skip (bytes) {
    const raw = Buffer.from(Buffer.concat([held.take(), bytes.subarray(0, RAW_BYTES + 1)]).subarray(0, RAW_BYTES + 1))
    records.push(refused(place, `longer than ${maxRecordBytes.toLocaleString('en')} bytes`, raw))
    skipping = true
  }

  /** @param {Buffer} bytes of a record that continues in the next chunk */
  function keep (bytes) {
    if (!skipping && !held.add(bytes)) skip(bytes)
  }

  /** @param {Buffer} bytes the last ones of a record */
  function finish (bytes) {
    if (!skipping && held.length + bytes.length > maxRecordBytes) skip(bytes)
    if (!skipping) push(bytes)
    skipping = false
    place = line
  }

  /** @param {Buffer} bytes */
  function push (bytes) {
    if (held.length > 0) {
      held.add(bytes)
      bytes = held.take()
    }
    if (bytes[bytes.length - 1] === CARRIAGE_RETURN) bytes = bytes.subarray(0, -1)
    if (bytes.length > 0) records.push({ place, record: null, text: bytes, raw: bytes, fault: null })
  }

  function takeRecords () {
    const complete = records
    records = []
    return complete
  }

  return {
    /** @param {Buffer} chunk @returns {Entry[]} records that end in it, without line ends and without empty ones */
    cut (chunk) {
      let start = 0
      let seen = 0
      for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, newline + 1)) {
        line++
        const inside = isInside(chunk, seen, newline)
        seen = newline
        if (inside) continue
        finish(chunk.subarray(start, newline))
        start = newline + 1
      }
      isInside(chunk, seen, chunk.length)
      if (start < chunk.length) keep(chunk.subarray(start))
      return takeRecords()
    },

    /** @returns {Entry[]} the last record, if it has no newline */
    end () {
      finish(NOTHING)
      return takeRecords()
    }
  }
}

/** The beginning of a record. Doubles its size, because bytes may arrive one by one. @param {number} maxBytes */
function createHeld (maxBytes) {
  let buffer = NOTHING
  let length = 0
  return {
    get length () { return length },

    /** @param {Buffer} bytes @returns {boolean} false = over the limit, not added */
    add (bytes) {
      const total = length + bytes.length
      if (total > maxBytes) return false
      if (total > buffer.length) {
        const larger = Buffer.allocUnsafe(Math.min(2 * total, maxBytes))
        buffer.copy(larger, 0, 0, length)
        buffer = larger
      }
      bytes.copy(buffer, length)
      length = total
      return true
    },

    /** @returns {Buffer} a copy; nothing is held then */
    take () {
      const bytes = Buffer.from(buffer.subarray(0, length))
      length = 0
      return bytes
    }
  }
}

/** @param {number} place @param {string} fault @param {Buffer | null} raw @returns {Entry} */
export const refused = (place, fault, raw) => ({ place, record: null, text: null, raw, fault })
