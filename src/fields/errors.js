/** Errors of fields. The other ones of HTTP are in src/http. */
import { define } from '../errors.js'

export { FreshetError } from '../errors.js'

export const FIELD_ERRORS = define('http', {
  REQUEST_INVALID: { status: 400, meaning: 'the route does not accept this path, query parameter, header or body' },
  FIELD_INVALID: { status: 422, meaning: 'a field of the command has a value that it does not take' },
  FIELDS_UNCHECKED: { meaning: 'the fields of a system are read in a program that does not serve it' }
})
