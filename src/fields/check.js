/**
 * The check of requests: Ajv with the schemas that the OpenAPI document shows, and what is wrong in words, all faults at once.
 *
 * Queries, paths and headers are texts. Only those of digits become numbers where the schema has one, since Ajv would take `1e3`; a field
 * that may be given several times becomes an array, and no other may be. Values of bodies are as they were sent. What is absent is its
 * default, or null; what every object inherits is absent, too.
 *
 * A schema is compiled by the first value that it checks.
 *
 * @typedef {import('./fields.js').Field} Field
 * @typedef {{ field: string, received: string, expected: string }} Fault
 * @typedef {Fault & { code: string }} CodedFault
 * @typedef {{ instancePath: string, params: Record<string, any> }} SchemaError of Ajv
 * @typedef {{ (value: unknown): boolean, errors?: SchemaError[] | null }} IsRight
 * @typedef {(input: Record<string, any>) => { values: Record<string, any>, faults: CodedFault[] }} Check
 */
import { grouped } from '../settings/index.js'
import { FreshetError } from './errors.js'

const MAX_SHOWN_CHARS = 64
/** of one request */
const MAX_SHOWN_UNKNOWN = 20
/** The fields of a schema. @type {any} */
const FIELDS = Symbol('fields')
const DIGITS = Object.freeze({ integer: /^\d+$/, number: /^\d+(\.\d+)?$/ })

/** @type {((schema: object) => IsRight) | null} */
let compile = null

/**
 * The processes have Ajv (src/http); a program that only writes or reads does not load it.
 * @param {(schema: object) => IsRight} compiler
 */
export function compileWith (compiler) { compile = compiler }

/** @param {object} schema @returns {IsRight} */
function compiled (schema) {
  if (compile === null) {
    throw new FreshetError('FIELDS_UNCHECKED',
      'fields are checked in the processes that serve a system: gateway, reader, consumers; read them there, or check them yourself')
  }
  return compile(schema)
}

/** @param {object} schema of a field @returns {string | null} why it cannot be compiled */
export function schemaFault (schema) {
  try {
    compiled({ type: 'object', properties: { field: schema } })
    return null
  } catch (error) {
    return error.message
  }
}

/**
 * The schema of an object with such fields, and no others.
 * @template {Field} F @param {Record<string, F>} fields @param {(field: F) => boolean} isRequired
 */
export const schemaOf = (fields, isRequired) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(fields).filter((name) => isRequired(fields[name])),
  properties: Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema])),
  [FIELDS]: fields
})

/** @param {Record<string, any>} schema @returns {Record<string, Field> | undefined} undefined: schemaOf has not made it */
export const fieldsIn = (schema) => schema[FIELDS]

/** What checks one value. @param {object} schema @returns {(value: unknown) => any} null if the schema does not allow it */
export function readerOf (schema) {
  /** @type {IsRight | null} */
  let isRight = null
  return (value) => (isRight ??= compiled(schema))(value) ? value : null
}

/**
 * @param {any} schema by schemaOf @param {{ isText?: boolean, code?: string }} [of] `isText`: values are texts; `code` of errors
 * @returns {Check}
 */
export function checkOf (schema, { isText = false, code = 'REQUEST_INVALID' } = {}) {
  const fields = fieldsIn(schema) ?? {}
  const names = Object.keys(fields)
  const converted = names.filter((name) => fields[name].convert)
  /** @type {IsRight | null} */
  let isRight = null
  return (input) => {
    isRight ??= compiled(schema)
    const values = isText ? numbersIn(input, schema.properties) : Object.assign(new /** @type {any} */ (Values)(), input)
    const wrong = isRight(values) ? new Set() : wrongIn(/** @type {SchemaError[]} */ (isRight.errors))
    if (isText) for (const name of names) if (isRepeated(values[name], schema.properties[name])) wrong.add(name)
    const faults = wrong.size === 0 ? [] : faultsOf(wrong, input, fields, { isText, code })
    for (const name of converted) {
      if (values[name] === undefined || wrong.has(name)) continue
      const { value, fault } = convertedOf(fields[name], values[name])
      if (fault === null) values[name] = value
      else faults.push({ ...faultOf(name, input[name], fields[name], { isText, code }), ...fault })
    }
    for (const name of names) if (values[name] === undefined) values[name] = null
    return { values, faults }
  }
}

/** A schema without a type takes an array. @param {unknown} value @param {{ type?: unknown }} schema */
const isRepeated = (value, { type }) => Array.isArray(value) && type !== 'array'

/** An object without a prototype, since a field may be called __proto__; engines read it faster than one of Object.create(null). */
function Values () {}
Values.prototype = Object.create(null)

/** @param {Record<string, string | string[]>} texts @param {Record<string, any>} properties @returns {Record<string, any>} */
function numbersIn (texts, properties) {
  const values = new /** @type {any} */ (Values)()
  for (const name of Object.keys(texts)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    values[name] = schema?.type === 'array'
      ? [texts[name]].flat().map((text) => numberOf(text, schema.items.type))
      : numberOf(texts[name], schema?.type)
  }
  return values
}

/** @param {string | string[]} text @param {string} type */
const numberOf = (text, type) =>
  (type === 'integer' || type === 'number') && typeof text === 'string' && DIGITS[type].test(text) ? Number(text) : text

/** @param {Field} field @param {any} value @returns {{ value: any, fault: { code?: string, received?: string } | null }} */
function convertedOf ({ convert }, value) {
  try {
    const taken = /** @type {NonNullable<Field['convert']>} */ (convert)(value)
    return { value: taken, fault: taken === null ? {} : null }
  } catch (error) {
    if (error instanceof FreshetError) return { value: null, fault: { code: error.code, received: error.message } }
    if (error instanceof RangeError) return { value: null, fault: {} }
    throw error
  }
}

/** Names of the fields that are wrong. @param {SchemaError[]} errors @returns {Set<string>} */
const wrongIn = (errors) => new Set(errors.map(({ instancePath, params }) => instancePath === ''
  ? params.additionalProperty ?? params.missingProperty
  : instancePath.slice(1).split('/')[0].replaceAll('~1', '/').replaceAll('~0', '~')))

/**
 * @param {Set<string>} wrong @param {Record<string, any>} input @param {Record<string, Field>} fields
 * @param {{ isText: boolean, code: string }} of @returns {CodedFault[]}
 */
function faultsOf (wrong, input, fields, of) {
  const fieldNames = Object.keys(fields)
  return [
    ...unknownFaults([...wrong].filter((name) => !Object.hasOwn(fields, name)), fieldNames),
    ...fieldNames.filter((name) => wrong.has(name)).map((name) =>
      faultOf(name, Object.hasOwn(input, name) ? input[name] : undefined, fields[name], of))
  ]
}

/** A body has room for thousands. @param {string[]} names @param {string[]} fieldNames @returns {CodedFault[]} */
function unknownFaults (names, fieldNames) {
  const list = fieldNames.length > 0 ? `one of ${fieldNames.join(', ')}` : 'no fields on this route'
  const more = names.length - MAX_SHOWN_UNKNOWN
  const faults = names.slice(0, MAX_SHOWN_UNKNOWN).map((name) => ({ field: shown(name), received: 'an unknown field' }))
  return [...faults, ...more > 0 ? [{ field: `and ${grouped(more)} more`, received: 'unknown fields' }] : []]
    .map((fault, i) => ({ ...fault, expected: i === 0 || fieldNames.length === 0 ? list : 'a known field', code: 'REQUEST_INVALID' }))
}

/** @param {string} name @param {any} value @param {Field} field @param {{ isText: boolean, code: string }} of @returns {CodedFault} */
function faultOf (name, value, { schema, expects = expectedOf(schema), code }, of) {
  const expected = typeof expects === 'function' ? expects(value) : expects
  const { maxItems = 1 } = /** @type {{ maxItems?: number }} */ (schema)
  const isTooOften = of.isText && Array.isArray(value) && value.length > maxItems
  return {
    field: name,
    received: isTooOften ? `given ${value.length} times` : receivedOf(value, of.isText),
    expected: isTooOften && maxItems === 1 ? `${expected}, once` : expected,
    code: isTooOften ? of.code : code ?? of.code
  }
}

/** @param {any} value @param {boolean} isText */
function receivedOf (value, isText) {
  if (value === undefined) return 'nothing'
  return isText ? value === '' ? 'no value' : shown(String(value)) : shown(JSON.stringify(value))
}

/** What a schema says, in words. @param {any} schema @returns {string} */
export function expectedOf ({ type, enum: words, minimum, maximum, minLength, maxLength, pattern }) {
  if (words) return words.join(' | ')
  if (type === 'boolean') return 'true or false'
  if (type === 'integer') return `an integer${boundsOf(minimum, maximum)}`
  if (type === 'number') return `a number${boundsOf(minimum, maximum)}`
  const bounds = boundsOf(minLength, maxLength)
  return `a text${bounds === '' ? '' : `${bounds} characters`}${pattern === undefined ? '' : ` that matches ${pattern}`}`
}

/** @param {number | undefined} low @param {number | undefined} high */
function boundsOf (low, high) {
  if (low === undefined) return high === undefined ? '' : ` up to ${grouped(high)}`
  return ` from ${grouped(low)}${high === undefined ? '' : ` to ${grouped(high)}`}`
}

/** @param {string} received */
const shown = (received) => received.length > MAX_SHOWN_CHARS ? received.slice(0, MAX_SHOWN_CHARS) + '...' : received

/** Of all faults of a request the most special code is that of the error. @param {CodedFault[]} faults @returns {FreshetError} */
export function faultsError (faults) {
  const codes = faults.map(({ code }) => code)
  const code = codes.find((candidate) => candidate !== 'REQUEST_INVALID' && candidate !== 'FIELD_INVALID') ??
    codes.find((candidate) => candidate === 'REQUEST_INVALID') ?? 'FIELD_INVALID'
  return invalid(code, faults.map(({ field, received, expected }) => ({ field, received, expected })))
}

/** @param {string} code @param {Fault[]} faults */
export const invalid = (code, faults) => new FreshetError(code,
  faults.map(({ field, received, expected }) => `${field}: ${received}; expected ${expected}`).join('. '), { faults })

/** @param {Fault[]} faults */
export const invalidFields = (faults) => invalid('FIELD_INVALID', faults)

/** @type {WeakMap<object, Check>} */
const checks = new WeakMap()

/** @param {Record<string, any>} input @param {Record<string, any>} fields @param {() => Check} create @returns {Record<string, any>} */
function read (input, fields, create) {
  const check = checks.get(fields) ?? create()
  checks.set(fields, check)
  const { values, faults } = check(input)
  if (faults.length > 0) throw faultsError(faults)
  return values
}

/**
 * @param {Record<string, unknown>} body @param {Record<string, import('./fields.js').BodyField>} fields of a body
 * @returns {Record<string, any>} a value for each field
 * @throws {FreshetError} REQUEST_INVALID, FIELD_INVALID
 */
export const readFields = (body, fields) =>
  read(body, fields, () => checkOf(schemaOf(fields, (field) => !(/** @type {any} */ (field).isOptional)), { code: 'FIELD_INVALID' }))

/**
 * @param {Record<string, string | string[]>} texts @param {Record<string, Field>} fields of a query
 * @returns {Record<string, any>} a value for each field
 * @throws {FreshetError} REQUEST_INVALID, or the code of a field
 */
export const readTexts = (texts, fields) =>
  read(texts, fields, () => checkOf(schemaOf(fields, ({ isRequired }) => Boolean(isRequired)), { isText: true }))
