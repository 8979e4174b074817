/** The limits beyond which a sample is marked, or left out of a fitted line. */

/** Share of an event loop, or of a core, above which the load generator may be the limit (L7). */
export const GENERATOR_BOUND = 0.8
/** Share of the planned items below which a load did not keep up. */
export const KEPT_UP = 0.97
/** Cores used by other processes, above which a sample is marked. */
export const NOISY_CORES = 0.15
/** The same for stolen time. */
export const NOISY_STEAL_PERCENT = 2
