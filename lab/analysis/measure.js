/**
 * A measure in one row: what it is, its unit, what an arm does, how it is read.
 *
 * @typedef {import('../run/sample.js').Sample} Sample
 * @typedef {{ title: string, unit: string, verb: string, noun?: string, isBetter?: 'higher', of: (sample: Sample) => number | null,
 *   isCut: (sample: Sample) => boolean }} Measure `isBetter`: default lower; `isCut`: the value is the time at which somebody gave up,
 *   so that the true one is larger, and no ratio follows from it
 */

export const HIGHER = Object.freeze({ isBetter: /** @type {const} */ ('higher') })
export const THROUGHPUT = Object.freeze({ noun: 'throughput', ...HIGHER })
export const CPU = Object.freeze({ noun: 'CPU' })

/** @param {number} amount @param {number} among @returns {number | null} */
export const per = (amount, among) => among > 0 && Number.isFinite(amount) ? amount / among : null

/**
 * Rows of a part of samples; null where a sample has no such part.
 * @template Part
 * @param {(sample: Sample) => Part | null | undefined} partOf
 */
export const rowsOf = (partOf) =>
  /**
   * @param {string} title @param {string} unit @param {string} verb
   * @param {(part: Part, sample: Sample) => number | null | undefined} read undefined: null
   * @param {Pick<Measure, 'noun' | 'isBetter'> & { isCut?: (part: Part) => boolean }} [more] `isCut`: default never
   * @returns {Measure}
   */
  (title, unit, verb, read, { isCut = () => false, ...more } = {}) => ({
    title,
    unit,
    verb,
    ...more,
    isCut (sample) {
      const part = partOf(sample)
      return Boolean(part) && isCut(/** @type {Part} */ (part))
    },
    of (sample) {
      const part = partOf(sample)
      return part ? read(part, sample) ?? null : null
    }
  })
