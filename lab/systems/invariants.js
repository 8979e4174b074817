/**
 * What a check of a history says.
 *
 * @typedef {{ name: string, ok: boolean, detail: string }} Invariant
 */
const MOST_SHOWN = 3

/** @param {string} name @param {string[]} faults @returns {Invariant} */
export const result = (name, faults) => ({
  name, ok: faults.length === 0, detail: faults.length ? `${faults.length}: ${faults.slice(0, MOST_SHOWN).join('; ')}` : 'none'
})

/** @param {string} name @param {boolean} ok @param {string} [detail] @returns {Invariant} */
export const holds = (name, ok, detail = '') => ({ name, ok, detail })

/** The first that is broken, of each. @template {{ ok: boolean }} One @param {One[][]} all of several histories @returns {One[]} */
export const merged = (all) => all[0].map((one, i) => all.find((those) => !those[i].ok)?.[i] ?? one)
