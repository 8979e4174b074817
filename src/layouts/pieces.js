/**
 * How much one command may ask for or carry. Large ranges collapse a server, and values of 1 MiB fill memory on both
 * sides long before their number is large: so what is read comes in pieces, whose size follows the bytes seen before.
 */
export const MAX_PIECE = 1000
export const TRIM_PIECE = 500
export const PIECE_BYTES = 8 * 1024 * 1024

/** ElastiCache Serverless refuses requests of more than 3,999 arguments; a batch needs two an item, and four of its own. */
export const MAX_BATCH_ITEMS = 1997

/** while nothing is known of their size: enough for the usual page in one go */
const FIRST_PIECE = 128
/** how much of the largest is remembered after each piece */
const FORGET = 0.9
/** one reply with fewer of the largest items is within what a connection takes (store/reply-check.js) */
const SAFE_PIECE = 500

/** @typedef {ReturnType<typeof createPieceSize>} PieceSize */

/** Sizes of the pieces of one question, or of all questions about a feed. */
export function createPieceSize () {
  let largestBytes = PIECE_BYTES / FIRST_PIECE
  let isLearnt = false
  return {
    /**
     * @param {number} wanted the last of them may be the one that tells whether there is more
     * @param {number} [at] how many pieces are fetched at once
     * @returns {number} how many to ask for, at least 1
     */
    of: (wanted, at = 1) => Math.max(1, Math.min(wanted, MAX_PIECE + 1, Math.floor(PIECE_BYTES / at / largestBytes))),

    /**
     * @template {{}} T
     * @param {(T | null)[]} piece what came
     * @param {(one: T) => number} [bytesOf] its length, if it is bytes
     * @returns {number} its bytes
     */
    learn (piece, bytesOf = (one) => /** @type {any} */ (one).length) {
      let bytes = 0
      let largest = 0
      for (const one of piece) {
        if (one === null) continue
        const size = bytesOf(one)
        bytes += size
        largest = Math.max(largest, size, 1)
      }
      if (largest > 0) {
        largestBytes = isLearnt ? Math.max(largest, largestBytes * FORGET) : largest
        isLearnt = true
      }
      return bytes
    },

    /**
     * The connection ended over a piece: after small items large ones may have come, more than it takes. The next piece
     * is a quarter of it.
     * @param {number} piece how many were asked for @param {number} [at]
     */
    lost (piece, at = 1) {
      if (piece < SAFE_PIECE) return
      largestBytes = 4 * PIECE_BYTES / at / piece
      isLearnt = true
    }
  }
}
