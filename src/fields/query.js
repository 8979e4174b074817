/**
 * Query fields as a table: a row has the check of a field, its default and its description in OpenAPI. All faults of a query
 * are reported at once. Unknown fields are refused, because an ignored typo (`limt=5`) would look like a valid response;
 * so are fields given twice, and no value is coerced.
 *
 * @typedef {{ expects: string, read: (text: string) => any, schema: Record<string, unknown>, default?: any, many?: number,
 *   isRequired?: boolean }} Field `many`: how many times it may be given; the value is then an array
 * @typedef {{ field: string, received: string, expected: string }} Fault
 */
import * as checks from '../settings/index.js'
import { FreshetError } from './errors.js'

const MAX_SHOWN_CHARS = 64

/** For routes without query parameters. @type {Readonly<Record<string, Field>>} */
export const NO_FIELDS = Object.freeze({})

/**
 * @param {{ expects: any, read: any }} check
 * @param {Record<string, unknown>} schema @param {any} unset
 * @returns {Field}
 */
const field = ({ expects, read }, schema, unset) => ({ expects, read, schema, default: unset })

/** @type {(low: number, high: number, rest: { description: string, default?: number | null }) => Field} */
export const integer = (low, high, { description, default: unset = null }) => field(checks.integer(low, high),
  { type: 'integer', minimum: low, maximum: high, description, ...(unset === null ? {} : { default: unset }) }, unset)

/** @type {(low: number, high: number, rest: { description: string, default: number }) => Field} */
export const number = (low, high, { description, default: unset }) => field(checks.number(low, high),
  { type: 'number', minimum: low, maximum: high, description, default: unset }, unset)

/** @type {(words: readonly string[], rest: { description: string }) => Field} the first word is the default */
export const oneOf = (words, { description }) => field(checks.oneOf(...words),
  { type: 'string', enum: words, description, default: words[0] }, words[0])

/**
 * @type {(read: (text: string) => any, rest: { description: string, expects: string, schema: object }) => Field} `read` throws a coded
 *   error; `schema` of the text
 */
export const text = (read, { description, expects, schema }) => field({ expects, read }, { ...schema, description }, null)

/** @param {Field} one @returns {Field} */
export const required = (one) => ({ ...one, isRequired: true })

/** @type {(max: number, field: Field) => Field} */
export const many = (max, one) => ({
  ...one,
  expects: `${one.expects}, at most ${checks.grouped(max)} times`,
  schema: { type: 'array', items: one.schema, minItems: 1, maxItems: max, description: one.schema.description },
  many: max
})

/**
 * The schema of an object with such fields, and no others.
 * @template {{ schema: Record<string, unknown> }} F
 * @param {Record<string, F>} fields @param {(field: F) => boolean | undefined} isRequired
 */
export const schemaOf = (fields, isRequired) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(fields).filter((name) => isRequired(fields[name])),
  properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]))
})

/** @param {Record<string, Field>} fields for the route's schema */
export const querySchema = (fields) => schemaOf(fields, ({ isRequired }) => isRequired)

/**
 * @param {Record<string, string | string[]>} given
 * @param {Record<string, Field>} fields
 * @returns {Record<string, any>} a value for each field
 * @throws {FreshetError} REQUEST_INVALID, and errors of text fields
 */
export function readTexts (given, fields) {
  /** @type {Fault[]} */
  const faults = []
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) faults.push({ field: shown(name), received: 'an unknown field', expected: knownOf(fields) })
  }
  /** @type {Record<string, any>} */
  const values = {}
  for (const [name, field] of Object.entries(fields)) {
    if (given[name] === undefined && field.isRequired) faults.push({ field: name, received: 'nothing', expected: field.expects })
    values[name] = given[name] === undefined ? field.default : readField(name, field, given[name], faults)
  }
  if (faults.length === 0) return values
  throw invalid('REQUEST_INVALID', faults)
}

/** @param {'REQUEST_INVALID' | 'FIELD_INVALID'} code @param {Fault[]} faults */
export const invalid = (code, faults) => new FreshetError(code,
  faults.map(({ field, received, expected }) => `${field}: ${received}; expected ${expected}`).join('. '), { faults })

/** @param {string} name @param {Field} field @param {string | string[]} given @param {Fault[]} faults */
function readField (name, { many: max = 1, expects, read }, given, faults) {
  const texts = Array.isArray(given) ? given : [given]
  if (texts.length > max) {
    faults.push({ field: name, received: `given ${texts.length} times`, expected: max > 1 ? expects : `${expects}, once` })
    return null
  }
  try {
    const values = texts.map((one) => read(one))
    return max > 1 ? values : values[0]
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    faults.push({ field: name, received: given === '' ? 'no value' : shown(String(given)), expected: expects })
    return null
  }
}

/** @param {Record<string, Field>} fields */
const knownOf = (fields) => Object.keys(fields).length ? `one of ${Object.keys(fields).join(', ')}` : 'no query parameter on this route'

/** @param {string} received */
export const shown = (received) => received.length > MAX_SHOWN_CHARS ? received.slice(0, MAX_SHOWN_CHARS) + '...' : received
