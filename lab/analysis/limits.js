/** The limits beyond which a sample is marked, or left out of a fitted line. */

/** Share of an event loop, or of a core, above which the load generator may be the limit (L7). */
export const GENERATOR_BOUND = 0.8
/** Share of the planned items below which a load did not keep up. */
export const KEPT_UP = 0.97
/** Cores used by other processes, above which a sample is marked. */
export const NOISY_CORES = 0.15
/** Share of the machine's time that another machine took, above which a sample is marked. */
export const STOLEN_PERCENT = 2
/** The same, above which it is measured again. */
export const REPEATED_STOLEN_PERCENT = 5
