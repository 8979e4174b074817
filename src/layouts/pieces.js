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

/** Sizes of the pieces of one question. */
export function createPieceSize () {
  let largestBytes = PIECE_BYTES / FIRST_PIECE
  let isLearnt = false
  return {
    /** @param {number} wanted the last of them may be the one that tells whether there is more @returns {number} how many to ask for, at least 1 */
    of: (wanted) => Math.max(1, Math.min(wanted, MAX_PIECE + 1, Math.floor(PIECE_BYTES / largestBytes))),

    /** @param {(Buffer | null)[]} piece what came @returns {number} its bytes */
    learn (piece) {
      let bytes = 0
      let largest = 0
      for (const one of piece) {
        if (one === null) continue
        bytes += one.length
        largest = Math.max(largest, one.length, 1)
      }
      if (largest > 0) {
        largestBytes = isLearnt ? Math.max(largest, largestBytes * FORGET) : largest
        isLearnt = true
      }
      return bytes
    }
  }
}
