/**
 * The bound on bytes that wait in the sockets of all clients, so that clients that do not read cost a bounded amount.
 *
 *     ROOM_BYTES    a client with more waiting is sent nothing; above TOTAL_BYTES for all clients, one with any waiting
 *     TOTAL_BYTES   above it, clients that have read nothing for some seconds are ended; above twice that, large items wait
 *     chunkBytes    maximum size of an event, unless one item is larger: a share of TOTAL_BYTES, so that an event for every
 *                   client fits
 *
 * One client has at most room + chunk waiting, less than 1 MiB.
 */

const TOTAL_BYTES = 16 * 1024 * 1024
const ROOM_BYTES = 32 * 1024
const MIN_CHUNK_BYTES = 32 * 1024
export const MAX_CHUNK_BYTES = 512 * 1024

/** @typedef {ReturnType<typeof createBudget>} Budget */

export function createBudget () {
  let waiting = 0
  let streams = 0
  return {
    /** Bytes, of all clients. */
    get waiting () { return waiting },
    get streams () { return streams },
    /** Clients that do not read are ended. */
    get isOver () { return waiting >= TOTAL_BYTES },
    /** Items larger than a chunk wait. */
    get isFarOver () { return waiting >= 2 * TOTAL_BYTES },
    /** Bytes that a client may have waiting when it is sent more. */
    get roomBytes () { return waiting < TOTAL_BYTES ? ROOM_BYTES : 0 },
    get chunkBytes () { return Math.max(MIN_CHUNK_BYTES, Math.min(MAX_CHUNK_BYTES, TOTAL_BYTES / streams)) },

    enter () { streams++ },
    /** @param {number} bytes that it had waiting */
    leave (bytes) {
      streams--
      waiting -= bytes
    },
    /** @param {number} bytes positive or negative */
    change (bytes) { waiting += bytes }
  }
}
