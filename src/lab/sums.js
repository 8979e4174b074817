/** What a ledger finds wrong: how often, and the first of it in words. */

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
