/**
 * Commands that a rule must allow: what other folders use of src/admission.
 *
 * @typedef {import('./commands.js').Command} Command
 * @typedef {import('./commands.js').Decision} Decision
 * @typedef {import('./admit.js').Admitted} Admitted
 */
export { createAdmission } from './admission.js'
export { admit } from './admit.js'
export { createBatcher } from './batcher.js'
export { decisionOf, prepare } from './commands.js'
export { admissionKey, systemKey } from './keys.js'
export { createOracle } from './oracle.js'
