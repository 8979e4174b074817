/**
 * Who must have a batch before it counts as acknowledged.
 */

/** @returns {string[]} */
export const ackNames = () => ['primary']
