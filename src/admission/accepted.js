/**
 * Whether a request may have been accepted within its lifetime: a Bloom filter, in two halves that take turns. It never forgets an
 * accepted request in time; a few others seem accepted, and are asked about.
 */

const BITS = 2 ** 24
const WORD = 32

/**
 * @param {{ requestMs: number, now?: () => number, bits?: number }} options `requestMs`: lifetime of a request
 */
export function createAccepted ({ requestMs, now = () => performance.now(), bits = BITS }) {
  let [young, old] = [new Uint32Array(bits / WORD), new Uint32Array(bits / WORD)]
  let turnedMs = now()

  function turn () {
    if (now() - turnedMs < requestMs) return
    ;[young, old] = [old.fill(0), young]
    turnedMs = now()
  }

  /** Two bits of a request. @param {string} request base64url of a digest @returns {number[]} */
  function bitsOf (request) {
    const bytes = Buffer.from(request.slice(0, 12), 'base64url')
    return [bytes.readUInt32LE(0) % bits, bytes.readUInt32LE(4) % bits]
  }

  /** @param {Uint32Array} half @param {number} bit */
  const has = (half, bit) => (half[bit / WORD | 0] >>> bit % WORD & 1) === 1

  return {
    /** @param {string} request */
    add (request) {
      turn()
      for (const bit of bitsOf(request)) young[bit / WORD | 0] |= 1 << bit % WORD
    },

    /** @param {string} request @returns {boolean} false: certainly not */
    mayHave (request) {
      const wanted = bitsOf(request)
      return [young, old].some((half) => wanted.every((bit) => has(half, bit)))
    }
  }
}
