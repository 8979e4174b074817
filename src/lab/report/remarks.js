/**
 * What a reader must know about the figures of an arm at a level before believing them.
 */

/** @typedef {import('../analysis.js').Analysis} Analysis */
/** @typedef {Analysis['cells'][number]} Cell */

/** of reasons that are told one by one */
const MOST = 2

/**
 * @param {Analysis} analysis
 * @param {Pick<Cell, 'arm' | 'level'>} of
 * @param {{ reasons?: number }} [options] why rounds are INVALID: so many reasons are told
 * @returns {string[]} empty when there is nothing to say; INVALID first
 */
export function remarksOf (analysis, { arm, level }, { reasons = MOST } = {}) {
  const cell = analysis.cells.find((one) => one.arm === arm && one.level === level)
  if (!cell) return []
  const rounds = cell.n + cell.invalid
  const share = (/** @type {number} */ some) => `in ${some} of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}`
  return [
    ...(cell.invalid ? [`INVALID ${share(cell.invalid)}${reasons > 0 ? `: ${reasonsOf(analysis, { arm, level }, reasons)}` : ''}`] : []),
    ...Object.entries(cell.marks).filter(([, some]) => some > 0).map(([mark, some]) => `${mark} ${share(some)}`)
  ]
}

/** @param {Analysis} analysis @param {Pick<Cell, 'arm' | 'level'>} of @param {number} most */
function reasonsOf ({ invalid }, { arm, level }, most) {
  const reasons = [...new Set(invalid.filter((one) => one.arm === arm && one.level === level).flatMap(({ why }) => why))]
  const more = reasons.length - most
  return reasons.slice(0, most).join('; ') + (more > 0 ? `; and ${more} more` : '')
}
