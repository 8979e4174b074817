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

  /** Two places of a request. @param {string} request base64url of a digest @returns {number[]} */
  function placesOf (request) {
    const bytes = Buffer.from(request.slice(0, 12), 'base64url')
    return [bytes.readUInt32LE(0) % bits, bytes.readUInt32LE(4) % bits]
  }

  /** @param {Uint32Array} half @param {number} place */
  const has = (half, place) => (half[place / WORD | 0] >>> place % WORD & 1) === 1

  return {
    /** @param {string} request */
    add (request) {
      turn()
      for (const place of placesOf(request)) young[place / WORD | 0] |= 1 << place % WORD
    },

    /** @param {string} request @returns {boolean} false: certainly not */
    mayHave (request) {
      const places = placesOf(request)
      return [young, old].some((half) => places.every((place) => has(half, place)))
    }
  }
}
