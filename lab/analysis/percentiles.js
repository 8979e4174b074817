/** Percentiles of samples. */
const NAMES = /** @type {const} */ (['p50', 'p95', 'p99', 'max'])

/** @param {{ p50: number, p95: number, p99: number, max: number } | null} of null = none @returns {boolean} L6 */
export const percentilesInOrder = (of) => of === null ||
  NAMES.every((name, i) => Number.isFinite(of[name]) && of[name] >= (i === 0 ? 0 : of[NAMES[i - 1]]))
