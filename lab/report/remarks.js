/**
 * Remarks about the figures of an arm at a level: INVALID rounds, errors, marks, noise.
 */

/** @typedef {import('../analysis/index.js').Analysis} Analysis */
/** @typedef {Analysis['cells'][number]} Cell */
/** @typedef {import('../analysis/groups.js').Counts} Counts */

/** reasons listed for each remark */
const MOST = 2

/**
 * @param {Analysis} analysis
 * @param {Pick<Cell, 'arm' | 'level'>} of
 * @param {{ reasons?: number }} [options] how many reasons to list for INVALID rounds and errors
 * @returns {string[]} INVALID first
 */
export function remarksOf (analysis, { arm, level }, { reasons = MOST } = {}) {
  const cell = analysis.cells.find((one) => one.arm === arm && one.level === level)
  if (!cell) return []
  const whyInvalid = firstOf(analysis.invalid.filter((one) => one.arm === arm && one.level === level).flatMap(({ why }) => why), reasons)
  return [
    ...(cell.invalid ? [`INVALID ${share(cell.invalid, cell)}${because(whyInvalid)}`] : []),
    ...endedTexts(cell, analysis.ended, Math.min(1, reasons)),
    ...marksTexts(cell)
  ]
}

/**
 * @param {Cell} cell
 * @param {Analysis['ended']} ended
 * @param {number} [most] messages of each
 * @returns {string[]} such as "ended by SERVER_FULL in 5 of 5 rounds: ...", one a code
 */
export const endedTexts = (cell, ended, most = MOST) => Object.entries(cell.ended).map(([code, some]) => {
  const messages = ended.filter((one) => one.arm === cell.arm && one.level === cell.level && one.code === code)
    .map(({ message }) => message)
  return `ended by ${code} ${share(some, cell)}${because(firstOf(messages, most))}`
})

/** @param {Counts} counts */
const marksTexts = (counts) => Object.entries(counts.marks).map(([mark, some]) => `${mark} ${share(some, counts)}`)

/** @param {number} some @param {Counts} counts */
function share (some, { n, invalid, ended }) {
  const rounds = n + invalid + Object.values(ended).reduce((sum, one) => sum + one, 0)
  return `in ${some} of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`
}

/** @param {string} reason */
const because = (reason) => reason === '' ? '' : `: ${reason}`

/**
 * @param {Analysis} analysis @param {Pick<Cell, 'arm' | 'level'>} of @param {(arm: string) => string} [nameOf] a label, in charts
 * @returns {string[]} for ratios no larger than that of the A/A pair
 */
export const noiseRemarks = ({ comparisons, main }, { arm, level }, nameOf = (name) => name) => [...new Set(comparisons
  .filter((one) => one.arm === arm && one.level === level && one.measure === main && one.withinNoise)
  .map(({ against }) => `against ${nameOf(against)}: within the noise of this machine`))]

/** @param {string[]} all @param {number} most @returns {string} different ones */
function firstOf (all, most) {
  const reasons = [...new Set(all)]
  const more = reasons.length - most
  return most === 0 ? '' : reasons.slice(0, most).join('; ') + (more > 0 ? `; and ${more} more` : '')
}
