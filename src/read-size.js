/**
 * Limits of one command. Large ranges overload a server, and a few values of 1 MiB fill memory on both sides. So members are
 * read in steps, whose size follows from the item sizes seen before.
 */
export const MAX_READ = 1000
export const MAX_TRIMMED = 500
const MAX_READ_BYTES = 8 * 1024 * 1024

/** of a request; ElastiCache Serverless refuses more */
export const MAX_ARGUMENTS = 3999
/** MSETEX and ZADD take two arguments per item, and up to five more. */
export const MAX_BATCH_ITEMS = Math.floor((MAX_ARGUMENTS - 5) / 2)

/** a reply with as many items fits into the limit of a connection, whatever their size (store/reply-frames.js) */
const SAFE_READ = 60
/** per read, for the largest size seen */
const DECAY = 0.9

/** @typedef {ReturnType<typeof createReadSize>} ReadSize */

/** For the reads of one query, or of all queries of a feed. */
export function createReadSize () {
  let largestBytes = MAX_READ_BYTES / SAFE_READ
  let isLearnt = false

  /**
   * @param {number} count may include one more, which shows whether there are more
   * @param {number} [at] concurrent reads
   * @returns {number} how many to read, at least 1
   */
  const of = (count, at = 1) => Math.max(1, Math.min(count, MAX_READ + 1, Math.floor(MAX_READ_BYTES / at / largestBytes)))

  return {
    of,

    /**
     * @template {{}} T
     * @param {(T | null)[]} piece items of one reply
     * @param {(item: T) => number} [bytesOf] default: `length`
     * @returns {number} bytes of all items
     */
    learn (piece, bytesOf = (item) => /** @type {any} */ (item).length) {
      let bytes = 0
      let largest = 0
      for (const item of piece) {
        if (item === null) continue
        const size = bytesOf(item)
        bytes += size
        largest = Math.max(largest, size, 1)
      }
      if (largest > 0) {
        largestBytes = isLearnt ? Math.max(largest, largestBytes * DECAY) : largest
        isLearnt = true
      }
      return bytes
    },

    /**
     * The connection ended during a read, perhaps because items became larger. The next read is a quarter of it.
     * @param {number} count @param {number} [at]
     */
    lost (count, at = 1) {
      const read = of(count, at)
      if (read < SAFE_READ) return
      largestBytes = 4 * MAX_READ_BYTES / at / read
      isLearnt = true
    }
  }
}
