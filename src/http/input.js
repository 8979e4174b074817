/**
 * The input of requests: fastify checks path, query, headers and body with the schemas of the route (src/fields), and what is wrong in all
 * of them is one error. A body with a schema is that of a command, a JSON object; one whose schema names media types is read by its route.
 */
import { Ajv } from 'ajv'
import { checkOf, compileWith, faultsError, fieldsIn } from '../fields/index.js'
import { bodyOf } from './body.js'
import { FreshetError } from './errors.js'

/** @typedef {((input: any) => boolean | { value: any }) & { errors?: import('../fields/index.js').CodedFault[] }} Validator */

/** Schemas of users may have the flag or not: `\p{L}` means something with it only, and `\-` is wrong with it. */
const regExp = Object.assign((/** @type {string} */ pattern) => {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return new RegExp(pattern)
  }
}, { code: 'new RegExp' })

const OPTIONS = Object.freeze({
  removeAdditional: false,
  useDefaults: true,
  allErrors: true,
  // a keyword that Ajv does not know documents
  strict: false,
  // tables of fields make the schemas; checking those costs the first request 40 ms
  meta: false,
  validateSchema: false,
  // formats are words for people: the check is a pattern, or that of the field
  validateFormats: false,
  // a field may be called constructor
  ownProperties: true,
  code: { regExp }
})
/**
 * @type {[keyword: string, type: 'string' | 'number', schemaType: 'number' | 'boolean', validate: (wanted: any, value: any) => boolean][]}
 */
const KEYWORDS = [
  ['maxBytes', 'string', 'number', (most, text) => Buffer.byteLength(text) <= most],
  ['wellFormed', 'string', 'boolean', (_yes, text) => text.isWellFormed()],
  ['multipleOf', 'number', 'number', isMultiple]
]
// an Ajv keeps all that it has compiled, and costs 0.2 ms
compileWith((schema) => {
  const ajv = new Ajv(OPTIONS).removeKeyword('multipleOf')
  for (const [keyword, type, schemaType, validate] of KEYWORDS) ajv.addKeyword({ keyword, type, schemaType, errors: false, validate })
  return ajv.compile(schema)
})

/** To the precision of a number, since 0.07 / 0.01 is no whole one. @param {number} unit @param {number} value */
function isMultiple (unit, value) {
  if (Number.isInteger(unit)) return value % unit === 0
  const times = value / unit
  return Math.abs(times - Math.round(times)) <= 2 * Number.EPSILON * Math.abs(times)
}

/** Names of headers as people write them. */
const SPELLED = new Map([['idempotency-key', 'Idempotency-Key']])

/** The order in which fastify checks them; it stops at the first that is wrong. */
const PARTS = Object.freeze(['params', 'body', 'querystring', 'headers'])

/** @param {import('fastify').FastifyInstance} app */
export function checkInput (app) {
  app.setValidatorCompiler(/** @type {any} */ (validatorOf))
}

/**
 * @param {{ schema: any, httpPart: string, contentType?: string }} route
 * @returns {Validator | undefined} undefined: the schema only documents
 */
function validatorOf ({ schema, httpPart, contentType }) {
  if (contentType !== undefined || fieldsIn(schema) === undefined) return
  const isBody = httpPart === 'body'
  const names = httpPart === 'headers' ? Object.keys(schema.properties) : null
  const check = checkOf(schema, { isText: !isBody, code: isBody ? 'FIELD_INVALID' : 'REQUEST_INVALID' })
  /** @type {Validator} */
  const validator = (input) => {
    const { values, faults } = check(names ? headersIn(input, names) : input)
    // the other headers stay
    if (faults.length === 0) return names ? true : { value: values }
    validator.errors = names ? faults.map((fault) => ({ ...fault, field: SPELLED.get(fault.field) ?? fault.field })) : faults
    return false
  }
  return validator
}

/** @param {Record<string, string>} headers @param {string[]} names */
const headersIn = (headers, names) =>
  Object.fromEntries(names.flatMap((name) => headers[name] === undefined ? [] : [[name, headers[name]]]))

/**
 * What is wrong with a request that was refused: also in the parts that fastify has not checked then.
 * @param {import('fastify').FastifyRequest} request @param {any} refused with `validation` and `validationContext`
 * @returns {FreshetError} REQUEST_INVALID, FIELD_INVALID, or the code of a field
 */
export function invalidInput (request, { validation, validationContext }) {
  const further = PARTS.slice(PARTS.indexOf(validationContext) + 1).flatMap((part) => {
    const validator = /** @type {Validator | undefined} */ (request.getValidationFunction(/** @type {any} */ (part)))
    if (typeof validator !== 'function') return []
    const input = /** @type {any} */ (request)[part === 'querystring' ? 'query' : part]
    return validator(input) ? [] : validator.errors ?? []
  })
  return faultsError([...validation, ...further])
}

/**
 * Hook before the check of a route whose body is a JSON object. It may be absent if no field of it is required.
 * @param {import('fastify').FastifyRequest} request @param {unknown} _reply @param {(error?: Error) => void} done
 */
export function readObject (request, _reply, done) {
  try {
    request.body = request.body === undefined && mayBeAbsent(request) ? {} : objectIn(bodyOf(request).bytes.toString())
  } catch (error) {
    return done(error)
  }
  done()
}

/** @param {import('fastify').FastifyRequest} request */
const mayBeAbsent = ({ routeOptions: { schema } }) => /** @type {any} */ (schema).body.required.length === 0

/** @param {string} text @returns {Record<string, unknown>} */
function objectIn (text) {
  let value
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new FreshetError('REQUEST_INVALID', `the body is not JSON: ${error.message}; expected a JSON object`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  const kind = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`
  throw new FreshetError('REQUEST_INVALID', `the body is ${kind}; expected a JSON object`)
}
