/**
 * Fields of queries and bodies, as tables: a row has the JSON Schema of a field, which checks it (check.js) and documents it, and what a
 * schema cannot say. Unknown fields are refused, because an ignored typo (`limt=5`) would look like a valid response.
 *
 * @typedef {object} Field
 * @property {Record<string, unknown>} schema
 * @property {string | ((value: unknown) => string)} [expects] for messages; without it, what the schema says
 * @property {string} [code] of the error, instead of REQUEST_INVALID or FIELD_INVALID
 * @property {((value: any) => any) | null} [convert] the value that a route gets; null, or an error that is thrown: it is not taken
 * @property {boolean} [isRequired] in a query
 *
 * @typedef {Field & { expects: NonNullable<Field['expects']>, read: (value: unknown) => any, isOptional: boolean }} BodyField
 *   `read` returns null for a value that it does not take
 */
import { grouped } from '../settings/index.js'
import { expectedOf, readerOf, schemaOf } from './check.js'

const EXPECTED_ID = '1-64 of A-Z a-z 0-9 _ . : -'
/** Not only blanks, which are those of ASCII; a database takes neither character 0 nor half of a surrogate pair (`wellFormed`). */
const TEXT = '^[\\u0001-\\u0020]*[^\\u0000-\\u0020][^\\u0000]*$'
const MAX_TIME = 2 ** 41 - 1
/** milliseconds of 1970 to 1973, which are seconds of any year: of items they are refused, too */
const SECONDS = Object.freeze({ from: 1e7, to: 1e11 })

export const ID_TEXT = Object.freeze({ type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,64}$' })
/** Of a path, a query or a header. @type {Readonly<Field>} */
export const ID_FIELD = Object.freeze({ schema: ID_TEXT, expects: EXPECTED_ID })
/** For routes without query parameters. @type {Readonly<Record<string, Field>>} */
export const NO_FIELDS = Object.freeze({})

/**
 * Fields of bodies: functions of the description.
 * @type {(convert: Field['convert'], expects: Field['expects'] | null, schema: object) => (description: string) =>
 *   BodyField} `convert`: null: the value is as it was sent
 */
export const field = (convert, expects, schema) => (description) => {
  const described = { ...schema, description }
  return {
    schema: described, expects: expects ?? expectedOf(described), convert, read: convert ?? readerOf(described), isOptional: false
  }
}

export const idField = field(null, EXPECTED_ID, ID_TEXT)
/** @param {unknown} value */
const areSeconds = (value) => Number(value) >= SECONDS.from && Number(value) < SECONDS.to
export const timeField = field(null,
  (value) => `milliseconds since 1970, an integer${areSeconds(value) ? '; this looks like seconds: multiply by 1000' : ''}` +
    (Number(value) > MAX_TIME ? ` of at most ${MAX_TIME} (the year 2039)` : ''),
  { type: 'integer', anyOf: [{ minimum: 0, exclusiveMaximum: SECONDS.from }, { minimum: SECONDS.to, maximum: MAX_TIME }] })
/** @param {number} most characters */
export const textField = (most) => field(null, `a text of 1 to ${grouped(most)} characters`,
  { type: 'string', minLength: 1, maxLength: most, pattern: TEXT, wellFormed: true })
/** @param {number} low @param {number} high */
export const wholeField = (low, high) => field(null, null, { type: 'integer', minimum: low, maximum: high })
/** @param {number} high */
export const millisField = (high) => wholeField(0, high)
/** @param {string[]} choices */
export const choiceField = (...choices) => field(null, null, { type: 'string', enum: choices })
export const flagField = field(null, null, { type: 'boolean' })
/**
 * A field of JSON Schema alone: numbers are exact, and texts have no half of a surrogate pair.
 * @param {Record<string, unknown>} schema of a string, integer or boolean
 */
export const plainField = (schema) => field(null, expectedOf(schema), { ...EXACT[String(schema.type)], ...schema })
/** @type {Readonly<Record<string, object>>} */
const EXACT = Object.freeze({
  integer: { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  string: { wellFormed: true }
})
/** @param {BodyField} field @returns {BodyField} null if it is absent */
export const optional = (field) => ({ ...field, isOptional: true })

/** @param {Record<string, BodyField>} fields for the schema of a route */
export const bodySchema = (fields) => schemaOf(fields, ({ isOptional }) => !isOptional)

/** @param {Record<string, unknown>} schema @param {string} description @param {any} unset @returns {Field} */
const queryField = (schema, description, unset) => ({ schema: { ...schema, description, ...(unset === null ? {} : { default: unset }) } })

/** @type {(low: number, high: number, rest: { description: string, default?: number | null }) => Field} */
export const integer = (low, high, { description, default: unset = null }) =>
  queryField({ type: 'integer', minimum: low, maximum: high }, description, unset)

/** @type {(low: number, high: number, rest: { description: string, default: number }) => Field} */
export const number = (low, high, { description, default: unset }) =>
  queryField({ type: 'number', minimum: low, maximum: high }, description, unset)

/** @type {(words: readonly string[], rest: { description: string }) => Field} the first word is the default */
export const oneOf = (words, { description }) => queryField({ type: 'string', enum: words }, description, words[0])

/**
 * @type {(convert: Field['convert'], rest: { description: string, expects: string, schema: object }) => Field} `convert` throws for a text
 *   that it does not take; `schema` of the text
 */
export const text = (convert, { description, expects, schema }) => ({ ...queryField({ ...schema }, description, null), convert, expects })

/** @param {Field} field @param {string} description @returns {Field} of a query */
export const described = (field, description) => ({ ...field, ...queryField(field.schema, description, null) })

/** @param {Field} field @returns {Field} */
export const required = (field) => ({ ...field, isRequired: true })

/** May be given so many times; the value is an array. @type {(max: number, field: Field) => Field} */
export const many = (max, { schema, convert, ...field }) => ({
  ...field,
  schema: { type: 'array', items: schema, minItems: 1, maxItems: max, description: schema.description },
  expects: `${field.expects ?? expectedOf(schema)}, at most ${grouped(max)} times`,
  convert: convert && ((/** @type {any[]} */ values) => values.map((value) => convert(value)))
})

/** @param {Record<string, Field>} fields for the schema of a route */
export const querySchema = (fields) => schemaOf(fields, ({ isRequired }) => Boolean(isRequired))

/** @param {Record<string, Field>} fields for the schema of a route */
export const paramsSchema = (fields) => schemaOf(fields, () => true)
