/**
 * Acknowledged batches that are used again, by bucket, so that a steady feed allocates none.
 *
 * @typedef {import('./open-batches.js').OpenBatch} OpenBatch
 */

/** @param {number} buckets @param {number} maxBytes kept in all buckets together */
export function createSpareBatches (buckets, maxBytes) {
  /** @type {OpenBatch[][]} */
  const spare = Array.from({ length: buckets }, () => [])
  let bytes = 0

  return {
    /** @param {number} bucket @returns {OpenBatch | undefined} */
    take (bucket) {
      const one = spare[bucket].pop()
      if (one === undefined) return undefined
      bytes -= one.spareBytes
      one.spareBytes = 0
      return one
    },

    /** Keeps a batch, if there is room. @param {OpenBatch} one @param {number} size about as many bytes as it keeps */
    put (one, size) {
      if (bytes + size > maxBytes) return
      one.spareBytes = size
      bytes += size
      spare[one.bucket].push(one)
    },

    clear () {
      for (const pool of spare) pool.length = 0
      bytes = 0
    }
  }
}
