/**
 * What other folders use of src/summary.
 *
 * @typedef {import('./summary.js').Tally} Tally
 */
export { createMeasurement } from './measurement.js'
export { emptyTally, perItem, summaryLine } from './summary.js'
