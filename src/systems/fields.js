/** Fields of a body, from the JSON Schema that a user gives each of them. */
import { field, optional } from '../fields/index.js'

/** @import { CommandRow } from '../http/index.js' */
/** @import { BodyField } from './face.js' */
/** @typedef {NonNullable<CommandRow['body']>} Fields */

/** @param {Record<string, BodyField>} body @returns {Fields} */
export const fieldsOf = (body) => Object.fromEntries(Object.entries(body).map(([name, given]) => {
  const { optional: isOptional, description, ...schema } = given
  const one = field((value) => isValid(value, schema) ? value : null, expectedOf(schema), schema)(String(description ?? name))
  return [name, isOptional ? optional(one) : one]
}))

/** @param {any} value @param {Record<string, any>} schema */
function isValid (value, { type, pattern, enum: choices, minLength = 0, maxLength = Infinity, minimum = -Infinity, maximum = Infinity }) {
  if (choices && !choices.includes(value)) return false
  if (type === 'boolean') return typeof value === 'boolean'
  if (type === 'integer') return Number.isSafeInteger(value) && value >= minimum && value <= maximum
  return typeof value === 'string' && /** @type {any} */ (value).isWellFormed() && value.length >= minLength && value.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern).test(value))
}

/** @param {Record<string, any>} schema */
const expectedOf = ({ type, ...rest }) =>
  [type === 'integer' ? 'an integer' : `a ${type}`, ...Object.entries(rest).map(([keyword, value]) => `${keyword} ${value}`)].join(', ')
