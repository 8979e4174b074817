/**
 * The floor of a set that is full, and trimmed: nothing below its oldest member is live, although nothing is stored there. A view
 * may still hold what was.
 * @param {import('../item/index.js').Place} oldest
 * @returns {Required<import('../item/index.js').VersionPlace>}
 */
export const justBelow = ({ ts, seq }) => ({ ts, seq, id: Buffer.alloc(0), stamp: 0 })
