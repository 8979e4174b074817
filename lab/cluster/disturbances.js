/** Placeholder. */
/** @param {{ driver?: string } | undefined} contention @returns {boolean} whether servers are replaced or slots moved in the window */
export const isDisturbed = (contention) => contention?.driver === 'cluster'
