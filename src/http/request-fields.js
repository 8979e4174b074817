/**
 * Fields of a request, each of a table (src/fields): those of its query, and those of the body of a command, a JSON object. A malformed
 * body is 400.
 */
import { readFields, readId, readTexts } from '../fields/index.js'
import { bodyOf } from './body.js'
import { FreshetError } from './errors.js'

/**
 * The request may have no body if every field is optional.
 * @param {import('fastify').FastifyRequest} request @param {Record<string, import('../fields/index.js').BodyField>} fields
 * @returns {Record<string, any>} a value for each field
 * @throws {FreshetError} REQUEST_INVALID, FIELD_INVALID
 */
export function readCommand (request, fields) {
  const isAbsent = request.body === undefined && Object.values(fields).every(({ isOptional }) => isOptional)
  return readFields(isAbsent ? {} : objectIn(bodyOf(request).bytes.toString()), fields)
}

/** @param {string} text @returns {Record<string, unknown>} */
function objectIn (text) {
  let value
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new FreshetError('REQUEST_INVALID', `the body is not JSON: ${error.message}; expected a JSON object`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  const given = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`
  throw new FreshetError('REQUEST_INVALID', `the body is ${given}; expected a JSON object`)
}

/**
 * The header Idempotency-Key.
 * @param {import('fastify').FastifyRequest} request @returns {string | null} null if there is none @throws {FreshetError} REQUEST_INVALID
 */
export function readRequestId ({ headers: { 'idempotency-key': given } }) {
  if (given === undefined) return null
  return readId(String(given), 'Idempotency-Key')
}

/**
 * @param {import('fastify').FastifyRequest} request
 * @param {Record<string, import('../fields/index.js').Field>} fields
 * @returns {Record<string, any>} a value for each field
 * @throws {FreshetError} REQUEST_INVALID, and errors of text fields
 */
export function readQuery (request, fields) {
  checkPercents(request.url)
  return readTexts(/** @type {Record<string, string | string[]>} */ (request.query), fields)
}

/** fastify's parser keeps malformed escapes, so `%zz` would become an id. @param {string} url */
function checkPercents (url) {
  const at = url.indexOf('?')
  if (at < 0 || !url.includes('%', at)) return
  try {
    decodeURIComponent(url.slice(at + 1))
  } catch {
    const detail = 'the query has a percent sign that does not begin a UTF-8 escape; write %25 for a literal percent sign'
    throw new FreshetError('REQUEST_INVALID', detail)
  }
}
