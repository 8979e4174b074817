/**
 * Where a figure begins to suffer. Each limit stands here once, for who marks a measurement, who checks its marks, and who
 * leaves it out of a line.
 */

/** Beyond this share of its event loop, or of a core, a process of the lab is what was measured (L7). */
export const GENERATOR_BOUND = 0.8
/** Of the items planned: a load that reached less did not keep up. */
export const KEPT_UP = 0.97
/** Cores used by processes that are none of ours, above which a measurement is marked. */
export const NOISY_CORES = 0.15
/** The same of stolen time. */
export const NOISY_STEAL_PERCENT = 2
