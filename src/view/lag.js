/** Bounds on how far a view, or the node that is read, may be behind. */

/** a view that is behind by more does not answer */
export const BEHIND_MS = 1000
/** assumed lag of a node that does not report it */
export const UNKNOWN_LAG_MS = 1000
