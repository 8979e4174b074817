/** Names of assets, and their tiers. */

export const TIERS = Object.freeze(['hot', 'medium', 'cold'])

/** @param {string} id as a client gives it @returns {string} */
export const assetOf = (id) => id.toLowerCase()
