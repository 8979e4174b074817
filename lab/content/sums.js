/** The faults that a ledger finds: counts, and the first few as text. */

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
