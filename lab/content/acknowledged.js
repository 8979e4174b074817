/**
 * What follows from the number of acknowledged items of a writer of the synthetic workload (src/synthetic.js): its ids, the
 * number in each value, and their order.
 */
import { isLateId } from '../../src/synthetic.js'

/**
 * @param {number} count acknowledged items, all from the first on
 * @param {number} index of the writer
 * @param {number} writers
 * @param {number} distinctIds of all writers together
 * @param {number} [lateEvery] ids whose first version stays the newest (src/synthetic.js)
 */
export function createWriter (count, index, writers, distinctIds, lateEvery = 0) {
  const ids = Math.max(1, Math.ceil(Math.max(0, distinctIds - index) / writers))
  const isLate = (/** @type {number} */ at) => isLateId(at, lateEvery)
  return {
    index,
    count,
    ids,
    /** The newest number of an id, 0 = none. @param {number} at */
    newest: (at) => at < count ? at + 1 + (isLate(at) ? 0 : ids * Math.floor((count - at - 1) / ids)) : 0,
    isLate,
    /** @param {number} at */
    nameOf: (at) => `id-${at * writers + index}`,
    order: createOrder()
  }
}

/** @param {ReturnType<typeof createWriter>[]} writers @returns {number} ids with an acknowledged item */
export const liveOf = (writers) => writers.reduce((sum, { count, ids }) => sum + Math.min(count, ids), 0)

/** Checks that numbers go down with scores. Rows of one score may be in any order. */
function createOrder () {
  let score = NaN
  let lowest = Infinity
  let lowestAbove = Infinity
  return {
    begin () {
      score = NaN
      lowest = Infinity
      lowestAbove = Infinity
    },
    /** @param {number} rowScore of the next row @param {number} number @returns {boolean} whether it is in order */
    take (rowScore, number) {
      if (rowScore !== score) {
        score = rowScore
        lowestAbove = Math.min(lowestAbove, lowest)
        lowest = Infinity
      }
      lowest = Math.min(lowest, number)
      return number < lowestAbove
    }
  }
}
