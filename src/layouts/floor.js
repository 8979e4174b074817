import { MAX_ID_BYTES } from '../item/index.js'

/**
 * The floor of a set that is full and trimmed: nothing below its oldest member is live, although nothing is stored there. A view
 * may still hold what was.
 * @param {import('../item/index.js').Place} oldest
 * @returns {Required<import('../item/index.js').VersionPlace>} the place just below it
 */
export const justBelow = ({ ts, seq, id }) => ({ ts, seq, id: bytesBelow(id), stamp: 0 })

/** Above every lower id: an id is UTF-8 without control characters, so none has a byte 255 or ends in 0. @param {Buffer} id */
const bytesBelow = (id) =>
  Buffer.concat([id.subarray(0, -1), Buffer.from([id[id.length - 1] - 1, 255])]).subarray(0, MAX_ID_BYTES)
