/**
 * What may wait in the sockets of all clients together, so that many that take nothing cost no more than a bound.
 *
 *     ROOM_BYTES    a client that has more waiting gets nothing made; none may wait when all together are above TOTAL_BYTES
 *     TOTAL_BYTES   above it, clients that have taken nothing for some seconds are ended; above twice that, large items wait
 *     chunkBytes    an event is no larger, but for one item that is: a share of TOTAL_BYTES, so that what all get at once fits
 *
 * One client has room + chunk waiting at most, which is below 1 MiB.
 */

const TOTAL_BYTES = 16 * 1024 * 1024
const ROOM_BYTES = 32 * 1024
const LEAST_CHUNK_BYTES = 32 * 1024
export const MOST_CHUNK_BYTES = 512 * 1024

/** @typedef {ReturnType<typeof createBudget>} Budget */

export function createBudget () {
  let waiting = 0
  let streams = 0
  return {
    /** bytes, of all clients */
    get waiting () { return waiting },
    get streams () { return streams },
    /** Clients that take nothing are not waited for any more. */
    get isOver () { return waiting >= TOTAL_BYTES },
    /** Nothing is sent that is larger than a chunk, as one item may be. */
    get isFarOver () { return waiting >= 2 * TOTAL_BYTES },
    /** bytes that a client may have waiting when more is made for it */
    get roomBytes () { return waiting < TOTAL_BYTES ? ROOM_BYTES : 0 },
    get chunkBytes () { return Math.max(LEAST_CHUNK_BYTES, Math.min(MOST_CHUNK_BYTES, TOTAL_BYTES / streams)) },

    enter () { streams++ },
    /** @param {number} bytes that it had waiting */
    leave (bytes) {
      streams--
      waiting -= bytes
    },
    /** @param {number} bytes more, or fewer */
    change (bytes) { waiting += bytes }
  }
}
