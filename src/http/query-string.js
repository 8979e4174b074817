/** The query of a request, whose fields are those of a table (src/fields). */
import { readTexts } from '../fields/index.js'
import { FreshetError } from './errors.js'

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
