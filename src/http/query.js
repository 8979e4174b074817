/**
 * Query fields as a table: one row says how a field is read, what is expected, and how OpenAPI describes it. All faults
 * of a query are told at once. Unknown fields are refused, because a mistyped `limt=5` that is ignored looks like an
 * answer; so are fields given twice, and nothing is coerced: a number is written in digits.
 *
 * @typedef {{ expects: string, read: (text: string) => any, schema: Record<string, unknown>, default?: any, many?: number }} Field
 *   `many`: may be given so many times, and reads as an array
 */
import { HttpError } from './problem.js'

const MAX_SHOWN_CHARS = 64

/** For routes without query fields. @type {Readonly<Record<string, Field>>} */
export const NO_FIELDS = Object.freeze({})

/** @type {(low: number, high: number, rest: { description: string, default?: number | null }) => Field} */
export const integer = (low, high, { description, default: unset = null }) => ({
  expects: `an integer from ${low.toLocaleString('en')} to ${high.toLocaleString('en')}`,
  read (text) {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN
    if (value >= low && value <= high) return value
    throw new RangeError(this.expects)
  },
  schema: { type: 'integer', minimum: low, maximum: high, description, ...(unset === null ? {} : { default: unset }) },
  default: unset
})

/** @type {(low: number, high: number, rest: { description: string, default: number }) => Field} */
export const number = (low, high, { description, default: unset }) => ({
  expects: `a number from ${low} to ${high}`,
  read (text) {
    const value = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : NaN
    if (value >= low && value <= high) return value
    throw new RangeError(this.expects)
  },
  schema: { type: 'number', minimum: low, maximum: high, description, default: unset },
  default: unset
})

/** @type {(words: readonly string[], rest: { description: string }) => Field} the first word is the default */
export const oneOf = (words, { description }) => ({
  expects: words.join(' | '),
  read (text) {
    if (words.includes(text)) return text
    throw new RangeError(this.expects)
  },
  schema: { type: 'string', enum: words, description, default: words[0] },
  default: words[0]
})

/** @type {(read: (text: string) => any, rest: { description: string, expects: string }) => Field} `read` throws a coded error */
export const text = (read, { description, expects }) => ({ expects, read, schema: { type: 'string', description }, default: null })

/** @type {(most: number, field: Field) => Field} */
export const many = (most, field) => ({
  ...field,
  expects: `${field.expects}, at most ${most.toLocaleString('en')} times`,
  schema: { type: 'array', items: field.schema, maxItems: most },
  many: most
})

/** @param {Record<string, Field>} fields @returns {Record<string, unknown>} for the route's schema */
export const querySchema = (fields) => ({
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]))
})

/**
 * @param {import('fastify').FastifyRequest} request
 * @param {Record<string, Field>} fields
 * @returns {Record<string, any>} a value for each field
 * @throws {HttpError} REQUEST_INVALID, and what a text field throws
 */
export function readQuery (request, fields) {
  checkPercents(request.url)
  const given = /** @type {Record<string, string | string[]>} */ (request.query)
  /** @type {{ field: string, received: string, expected: string }[]} */
  const faults = []
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) faults.push({ field: shown(name), received: 'an unknown field', expected: knownOf(fields) })
  }
  /** @type {Record<string, any>} */
  const values = {}
  for (const [name, field] of Object.entries(fields)) {
    values[name] = given[name] === undefined ? field.default : readField(name, field, given[name], faults)
  }
  if (faults.length === 0) return values
  throw new HttpError('REQUEST_INVALID', faults.map(({ field, received, expected }) => `${field}: ${received}; expected ${expected}`).join('. '), { faults })
}

/** @param {string} name @param {Field} field @param {string | string[]} given @param {{ field: string, received: string, expected: string }[]} faults */
function readField (name, field, given, faults) {
  const texts = Array.isArray(given) ? given : [given]
  if (texts.length > (field.many ?? 1)) {
    faults.push({ field: name, received: `given ${texts.length} times`, expected: field.many ? field.expects : `${field.expects}, once` })
    return null
  }
  try {
    const values = texts.map((one) => field.read(one))
    return field.many ? values : values[0]
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    faults.push({ field: name, received: given === '' ? 'no value' : shown(String(given)), expected: field.expects })
    return null
  }
}

/** @param {Record<string, Field>} fields */
const knownOf = (fields) => Object.keys(fields).length ? `one of ${Object.keys(fields).join(', ')}` : 'no query field on this route'

/** @param {string} received */
const shown = (received) => received.length > MAX_SHOWN_CHARS ? received.slice(0, MAX_SHOWN_CHARS) + '...' : received

/** The parser keeps a malformed escape as it is, which would make `%zz` an id. @param {string} url */
function checkPercents (url) {
  const at = url.indexOf('?')
  if (at < 0 || !url.includes('%', at)) return
  try {
    decodeURIComponent(url.slice(at + 1))
  } catch {
    throw new HttpError('REQUEST_INVALID', 'the query has a percent sign that starts no UTF-8 escape; write %25 for a percent sign itself')
  }
}
