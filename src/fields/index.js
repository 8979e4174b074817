/**
 * Fields of bodies and queries: what other folders use of src/fields. It loads no HTTP server, so a module of a user may use it.
 *
 * @typedef {import('./body.js').BodyField} BodyField
 * @typedef {import('./query.js').Field} Field
 * @typedef {import('./query.js').Fault} Fault
 */
export {
  bodySchema, choiceField, field, flagField, ID_TEXT, idField, invalidFields, isText, millisField, optional, readFields, readId, textField,
  timeField, wholeField
} from './body.js'
export { FIELD_ERRORS } from './errors.js'
export { integer, many, NO_FIELDS, number, oneOf, querySchema, readTexts, required, text } from './query.js'
