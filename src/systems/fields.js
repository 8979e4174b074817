/** Fields of a body, from the JSON Schema that a user gives each of them. */
import { field, optional } from '../http/index.js'

/** @param {Record<string, import('./face.js').BodyField>} body @returns {NonNullable<import('../http/index.js').CommandRow['body']>} */
export const fieldsOf = (body) => Object.fromEntries(Object.entries(body).map(([name, { optional: isOptional, description, ...schema }]) => {
  const one = field((value) => isValid(value, schema) ? value : null, expectedOf(schema), schema)(String(description ?? name))
  return [name, isOptional ? optional(one) : one]
}))

/** @param {any} value @param {Record<string, any>} schema */
function isValid (value, { type, pattern, enum: choices, minLength = 0, maxLength = Infinity, minimum = -Infinity, maximum = Infinity }) {
  if (choices && !choices.includes(value)) return false
  if (type === 'integer') return Number.isSafeInteger(value) && value >= minimum && value <= maximum
  if (type !== 'string') return typeof value === type
  return typeof value === 'string' && value.isWellFormed() && value.length >= minLength && value.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern).test(value))
}

/** @param {Record<string, any>} schema */
const expectedOf = ({ type, ...rest }) =>
  [type === 'integer' ? 'an integer' : `a ${type}`, ...Object.entries(rest).map(([keyword, value]) => `${keyword} ${value}`)].join(', ')
