/** The faults that a ledger finds: counts, and the first few as text. */
import { liveOf } from './acknowledged.js'

const EXAMPLES = 5

/** @typedef {'missing' | 'foreign' | 'misplaced'} Wrong see ledger.js */

export function createSums () {
  return {
    missing: 0,
    foreign: 0,
    misplaced: 0,
    detail: /** @type {string[]} */ ([]),
    /** @param {Wrong} what @param {() => string} why */
    add (what, why) {
      this[what]++
      if (this.detail.length < EXAMPLES) this.detail.push(`${what}: ${why()}`)
    }
  }
}

/**
 * @param {Parameters<typeof liveOf>[0]} writers @param {ReturnType<typeof createSums>} sums
 * @param {Pick<import('./ledger.js').Ledger, 'stored' | 'digest' | 'released' | 'doubled'> & { isEvery?: boolean }} node `isEvery`:
 *   it keeps every version that it has not dropped
 * @returns {import('./ledger.js').Ledger}
 */
export function ledgerOf (writers, { missing, foreign, misplaced, detail }, { isEvery = true, released, ...node }) {
  const acknowledged = writers.reduce((sum, { count }) => sum + count, 0)
  const liveItems = liveOf(writers)
  const versions = isEvery ? acknowledged - released : liveItems
  return { acknowledged, liveItems, versions, verified: versions - missing, released, missing, foreign, misplaced, detail, ...node }
}
