/**
 * Fields of bodies and queries, and their check: what other folders use of src/fields. It loads no HTTP server, so a module of a user may
 * use it.
 *
 * @typedef {import('./fields.js').BodyField} BodyField
 * @typedef {import('./fields.js').Field} Field
 * @typedef {import('./check.js').CodedFault} CodedFault
 * @typedef {import('./check.js').Fault} Fault
 */
export {
  checkOf, compileWith, faultsError, fieldsIn, invalid, invalidFields, readFields, readTexts, schemaFault, schemaOf
} from './check.js'
export { FIELD_ERRORS } from './errors.js'
export {
  bodySchema, choiceField, described, field, flagField, ID_FIELD, ID_TEXT, idField, integer, many, millisField, NO_FIELDS, number, oneOf,
  optional, paramsSchema, plainField, querySchema, required, text, textField, timeField, wholeField
} from './fields.js'
