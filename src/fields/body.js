/**
 * Fields of the body of a command. Unknown fields are 400, values that a field does not take 422; all faults are reported at once.
 *
 * @typedef {{ expects: string | ((value: unknown) => string), read: (value: unknown) => any, schema: Record<string, unknown>,
 *   isOptional: boolean }} BodyField `read` returns null for a value that it does not take
 */
import { FreshetError } from './errors.js'
import { invalid, schemaOf, shown } from './query.js'

const ID = /^[A-Za-z0-9_.:-]{1,64}$/
const EXPECTED_ID = '1-64 of A-Z a-z 0-9 _ . : -'
/** not only blanks, which are those of ASCII: every other character may be a name */
const TEXT = /^[^\0]*[^\0-\x20][^\0]*$/
const MAX_TIME = 2 ** 41 - 1
/** milliseconds of 1970 to 1973, which are seconds of any year: of items they are refused, too */
const SECONDS = Object.freeze({ from: 1e7, to: 1e11 })

export const ID_TEXT = Object.freeze({ type: 'string', pattern: ID.source })

/** @type {(read: BodyField['read'], expects: BodyField['expects'], schema: object) => (description: string) => BodyField} */
export const field = (read, expects, schema) => (description) => ({ read, expects, schema: { ...schema, description }, isOptional: false })

/** @param {unknown} value @param {number} low @param {number} high */
const whole = (value, low, high) => Number.isInteger(value) && Number(value) >= low && Number(value) <= high ? value : null

export const idField = field((value) => typeof value === 'string' && ID.test(value) ? value : null, EXPECTED_ID, ID_TEXT)
export const timeField = field((value) => areSeconds(value) ? null : whole(value, 0, MAX_TIME),
  (value) => `milliseconds since 1970, an integer${areSeconds(value) ? '; this looks like seconds: multiply by 1000' : ''}` +
    (Number(value) > MAX_TIME ? ` of at most ${MAX_TIME} (the year 2039)` : ''),
  { type: 'integer', anyOf: [{ minimum: 0, exclusiveMaximum: SECONDS.from }, { minimum: SECONDS.to, maximum: MAX_TIME }] })
/** @param {unknown} value */
const areSeconds = (value) => Number(value) >= SECONDS.from && Number(value) < SECONDS.to
/** @param {number} most characters */
export const textField = (most) => field((value) => typeof value === 'string' && isText(value, most) ? value : null,
  `a text of 1 to ${most} characters`, { type: 'string', minLength: 1, maxLength: most, pattern: TEXT.source })
/** @param {string} value @param {number} most characters. A database takes neither character 0 nor half a surrogate pair */
export const isText = (value, most) => TEXT.test(value) && value.length <= most && /** @type {any} */ (value).isWellFormed()
/** @param {number} low @param {number} high */
export const wholeField = (low, high) => field((value) => whole(value, low, high), `an integer from ${low} to ${high}`,
  { type: 'integer', minimum: low, maximum: high })
/** @param {number} high */
export const millisField = (high) => wholeField(0, high)
/** @param {string[]} choices */
export const choiceField = (...choices) => field((value) => choices.includes(String(value)) ? value : null, `one of ${choices.join(', ')}`,
  { type: 'string', enum: choices })
export const flagField = field((value) => typeof value === 'boolean' ? value : null, 'true or false', { type: 'boolean' })
/** @param {BodyField} one @returns {BodyField} null if it is absent */
export const optional = (one) => ({ ...one, isOptional: true })

/** @param {Record<string, BodyField>} fields for the schema of a route */
export const bodySchema = (fields) => schemaOf(fields, ({ isOptional }) => !isOptional)

/**
 * @param {Record<string, unknown>} given @param {Record<string, BodyField>} fields
 * @returns {Record<string, any>} a value for each field
 * @throws {FreshetError} REQUEST_INVALID, FIELD_INVALID
 */
export function readFields (given, fields) {
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(fields, name))
  if (unknown.length > 0) {
    const known = Object.keys(fields).join(', ') || 'no fields'
    throw new FreshetError('REQUEST_INVALID', `${unknown.map(shown).join(', ')}: unknown; expected ${known}`)
  }
  /** @type {import('./query.js').Fault[]} */
  const faults = []
  const values = Object.fromEntries(Object.entries(fields).map(([name, { read, expects, isOptional }]) => {
    const value = given[name]
    if (value === undefined && isOptional) return [name, null]
    const taken = value === undefined ? null : read(value)
    const received = value === undefined ? 'nothing' : shown(JSON.stringify(value))
    if (taken === null) faults.push({ field: name, received, expected: typeof expects === 'function' ? expects(value) : expects })
    return [name, taken]
  }))
  if (faults.length === 0) return values
  throw invalidFields(faults)
}

/** @param {import('./query.js').Fault[]} faults */
export const invalidFields = (faults) => invalid('FIELD_INVALID', faults)

/** @param {string} given of a path @param {string} name of the parameter @returns {string} @throws {FreshetError} REQUEST_INVALID */
export function readId (given, name) {
  if (ID.test(given)) return given
  throw new FreshetError('REQUEST_INVALID', `${name}: ${shown(given)}; expected ${EXPECTED_ID}`)
}
