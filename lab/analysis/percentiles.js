/** Percentiles of samples. */
const NAMES = /** @type {const} */ (['p50', 'p95', 'p99', 'max'])

/**
 * @param {number[]} values
 * @returns {{ min: number, mean: number, p50: number, p90: number, p95: number, p99: number, max: number }} 0 of none
 */
export function percentilesOf (values) {
  const sorted = Float64Array.from(values).sort()
  const at = (/** @type {number} */ share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
  return { min: at(0), mean, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) }
}

/**
 * Latencies below 0: something was sent before it was due, or two clocks differ.
 * @param {unknown} figures of a sample @param {string} [path]
 * @returns {string[]} paths of percentiles, with the least
 */
export function belowZero (figures, path = '') {
  if (figures === null || typeof figures !== 'object' || Array.isArray(figures)) return []
  const { p50, min = p50 } = /** @type {Record<string, unknown>} */ (figures)
  const own = typeof p50 === 'number' && Number(min) < 0 ? [`${path} ${min} ms`] : []
  return [...own, ...Object.entries(figures).flatMap(([name, one]) => belowZero(one, path ? `${path}.${name}` : name))]
}

/** @param {{ p50: number, p95: number, p99: number, max: number } | null} of null = none @returns {boolean} L6 */
export const percentilesInOrder = (of) => of === null ||
  NAMES.every((name, i) => Number.isFinite(of[name]) && of[name] >= (i === 0 ? 0 : of[NAMES[i - 1]]))
