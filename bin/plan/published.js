/**
 * What the published way (one SETEX per item and one ZADD per 1,000, 128-byte values) cost on ElastiCache: percent of the whole node of 2
 * vCPU, of which 50 is one core.
 *
 * Source: the README at STUDY (2021).
 *
 * @typedef {{ node: string, writers: number, itemsPerSecond: number, primary: number, replica: number }} Published
 */

export const STUDY = 'https://github.com/luciopaiva/redis-nodejs-test/tree/HEAD/experiments/sorted-set-of-byte-arrays'

/** @type {readonly Published[]} */
export const PUBLISHED = Object.freeze([
  ['r6g.large', 4, 40_000, 11, 7.5], ['r6g.large', 4, 200_000, 36, 24], ['r6g.large', 6, 300_000, 50, 33],
  ['r6g.large', 8, 200_000, 40, 27], ['r6g.large', 8, 200_000, 45, 30],
  ['r5.large', 4, 40_000, 9.5, 7], ['r5.large', 4, 200_000, 30, 22], ['r5.large', 6, 300_000, 44, 31], ['r5.large', 8, 400_000, 53, 37],
  ['r5.large', 5, 240_000, 42, 27], ['r5.large', 6, 240_000, 42, 28], ['r5.large', 8, 300_000, 48, 35], ['r5.large', 8, 240_000, 42, 30],
  ['r5.large', 8, 200_000, 37, 25]
].map(([node, writers, itemsPerSecond, primary, replica]) =>
  Object.freeze(/** @type {Published} */ ({ node, writers, itemsPerSecond, primary, replica }))))

const PERCENT_OF_A_CORE = 50
const FIT_WRITERS = 4
const FITTED = Object.freeze([40_000, 200_000])

/** @typedef {{ fixedCores: number, microsPerItem: number }} Line cores = fixed + micros x items/s / 1e6 */

/**
 * Through the two rows of four writers.
 * @param {string} node @returns {{ primary: Line, replica: Line }}
 */
export function fitOf (node) {
  const [low, high] = FITTED.map((rate) =>
    PUBLISHED.find((row) => row.node === node && row.writers === FIT_WRITERS && row.itemsPerSecond === rate))
  if (!low || !high) throw new RangeError(`${node} has no published rows`)
  const lineOf = (/** @type {'primary' | 'replica'} */ what) => {
    const perItem = (high[what] - low[what]) / PERCENT_OF_A_CORE / (high.itemsPerSecond - low.itemsPerSecond)
    return { fixedCores: low[what] / PERCENT_OF_A_CORE - perItem * low.itemsPerSecond, microsPerItem: perItem * 1e6 }
  }
  return { primary: lineOf('primary'), replica: lineOf('replica') }
}

/** How far the line is from each published row. @returns {(Published & { planned: number, error: number })[]} of the primary, percent */
export const errorsOfFit = () => PUBLISHED.map((row) => {
  const { fixedCores, microsPerItem } = fitOf(row.node).primary
  const planned = PERCENT_OF_A_CORE * (fixedCores + microsPerItem * row.itemsPerSecond / 1e6)
  return { ...row, planned, error: planned / row.primary - 1 }
})
