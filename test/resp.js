/**
 * Finds the ends of replies in a stream of RESP2, however it is cut.
 *
 *     +OK\r\n   :1\r\n   -ERR ...\r\n   $3\r\nabc\r\n   $-1\r\n   *2\r\n<reply><reply>   *-1\r\n
 */

const CR = 13
const LF = 10
const DOLLAR = 36
const STAR = 42

export function createReplies () {
  /** missing replies of each open array, the outermost first @type {number[]} */
  const missing = []
  /** the current line so far */
  let line = ''
  /** missing bytes of the current string, its line end included */
  let body = 0

  /** A part ended. @returns {boolean} whether it was the last part of a whole reply */
  function ended () {
    while (missing.length && --missing[missing.length - 1] === 0) missing.pop()
    return missing.length === 0
  }

  /** The current line ended. @returns {boolean} whether a whole reply ended with it */
  function lineEnded () {
    const type = line.charCodeAt(0)
    const length = type === DOLLAR || type === STAR ? Number(line.slice(1)) : 0
    line = ''
    if (type === DOLLAR && length >= 0) body = length + 2
    else if (type === STAR && length > 0) missing.push(length)
    else return ended()
    return false
  }

  return {
    /** @param {Buffer} bytes the next ones @returns {number[]} offsets in them where a whole reply ends */
    ends (bytes) {
      const offsets = []
      for (let at = 0; at < bytes.length;) {
        if (body > 0) {
          const step = Math.min(body, bytes.length - at)
          at += step
          body -= step
          if (body === 0 && ended()) offsets.push(at)
          continue
        }
        const byte = bytes[at++]
        if (byte === LF) {
          if (lineEnded()) offsets.push(at)
        } else if (byte !== CR) line += String.fromCharCode(byte)
      }
      return offsets
    }
  }
}
