/**
 * Schemas of routes, from tables of fields: they check requests (input.js) and make the OpenAPI document (openapi.js). Statuses of errors
 * follow from their codes.
 */
import { kindOf } from '../errors.js'
import { bodySchema, described, ID_FIELD, paramsSchema, querySchema, schemaOf } from '../fields/index.js'
import './errors.js'

/**
 * @typedef {Record<string, import('../fields/index.js').Field>} Fields
 * @typedef {Record<string, import('../fields/index.js').BodyField>} BodyFields
 */

/** what any route may answer: faults of the head, and of this process */
const CODES_OF_ALL = Object.freeze(['REQUEST_INVALID', 'REQUEST_TIMEOUT', 'URI_TOO_LONG', 'HEADERS_TOO_LARGE', 'INTERNAL'])
/** what any route about feeds may answer; those of servers have no list, since any of their errors becomes one of the two statuses */
const CODES_OF_FEEDS = Object.freeze(['FEED_NAME_INVALID', 'NOT_READY', 'OVERLOADED'])

const FAULT = Object.freeze({
  type: 'object',
  description: 'of a query parameter: `field`, `received`, `expected`; of an item: `index` in the array or `line`, `code`, `reason`',
  properties: {
    field: { type: 'string' },
    received: { type: 'string' },
    expected: { type: 'string' },
    index: { type: 'integer', minimum: 0 },
    line: { type: 'integer', minimum: 1 },
    code: { type: 'string' },
    reason: { type: 'string' }
  }
})

const RETRY_AFTER =
  Object.freeze({ 'Retry-After': { type: 'integer', minimum: 0, description: 'seconds after which the request may be repeated' } })
/** @type {Readonly<Record<number, Record<string, object>>>} headers of errors, by status */
const HEADERS_OF_ERRORS = Object.freeze({
  401: { 'WWW-Authenticate': { type: 'string', pattern: '^Bearer' } },
  429: RETRY_AFTER,
  503: RETRY_AFTER
})

/** @param {string} code @returns {number} its HTTP status */
const statusOf = (code) => {
  const { status, retryable } = /** @type {import('../errors.js').ErrorKind} */ (kindOf(code))
  return status ?? (retryable ? 503 : 500)
}

/** @param {number} status @param {string[]} codes @param {Record<string, unknown>} facts schemas of further members */
function problem (status, codes, facts) {
  const isListed = status !== 500 && status !== 503
  const code = { type: 'string', ...(isListed ? { enum: codes } : { pattern: '^[A-Z_]+$', examples: codes }) }
  return {
    description: codes.map((name) => `${name}: ${kindOf(name)?.meaning}`).join('. ') +
      (isListed ? '' : '. Or another code of docs/errors.md'),
    ...(HEADERS_OF_ERRORS[status] ? { headers: HEADERS_OF_ERRORS[status] } : {}),
    content: {
      'application/problem+json': {
        schema: {
          type: 'object',
          description: 'RFC 9457; test `code`, never the text',
          required: ['type', 'title', 'status', 'detail', 'code', 'retryable'],
          properties: {
            type: { type: 'string', format: 'uri', pattern: '^urn:freshet:error:[A-Z_]+$' },
            title: { type: 'string' },
            status: { type: 'integer', enum: [status] },
            detail: { type: 'string' },
            code,
            retryable: { type: 'boolean' },
            ...(codes.includes('REQUEST_INVALID') ? { faults: { type: 'array', items: FAULT } } : {}),
            ...facts
          }
        }
      }
    }
  }
}

/**
 * The responses of errors.
 * @param {readonly string[]} codes
 * @param {Record<string, unknown>} [facts] schemas of further members of them all
 * @returns {Record<number, unknown>} by status
 */
export function problemsOf (codes, facts = {}) {
  const statuses = [...new Set(codes.map(statusOf))].sort()
  return Object.fromEntries(statuses.map((status) => [status, problem(status, codes.filter((code) => statusOf(code) === status), facts)]))
}

/**
 * The responses of a route that may have further errors; a status may have some already.
 * @param {Record<number, any>} responses by status @param {readonly string[]} codes
 */
export function addProblems (responses, codes) {
  const listed = [...new Set(codes.map(statusOf))].flatMap((status) =>
    responses?.[status]?.content['application/problem+json'].schema.properties.code.enum ?? [])
  return { ...responses, ...problemsOf([...codes, ...listed]) }
}

/** of content that is confirmed by a server */
const FRESHNESS = Object.freeze({
  'Freshet-As-Of': {
    type: 'integer', minimum: 0, description: 'time at which the content was current: milliseconds since 1970, on the clock of this reader'
  },
  Age: { type: 'integer', minimum: 0, description: 'seconds since Freshet-As-Of' },
  ETag: { type: 'string', description: 'of the content without its time; with If-None-Match, unchanged content is 304 without a body' },
  'Freshet-Lag-Ms': { type: 'integer', minimum: 0, description: 'lag of the replica that was read; absent when unknown' },
  'Freshet-Stale': {
    type: 'string', enum: ['true'], description: 'the servers are unavailable, or the view is behind: this was current at Freshet-As-Of'
  },
  'Cache-Status': { type: 'string', description: 'with Freshet-Stale: the reason (RFC 9211)' }
})

const IF_NONE_MATCH = Object.freeze({ 'if-none-match': { type: 'string', description: 'ETag of content that the client has' } })

/** @param {Record<string, unknown>} content media types with their schemas */
const contentOf = (content) => Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]))

/**
 * The schema of a route about feeds.
 * @param {{ summary: string, params?: Fields, query: Fields, command?: BodyFields, body?: Record<string, unknown>,
 *   content: Record<string, unknown>, isCached?: boolean, requestHeaders?: Record<string, unknown>, headers?: Record<string, unknown>,
 *   codes?: string[] }} route `params` of its path; `command`: fields of a body that is a JSON object; `body`: media types with their
 *   schemas of one that the route reads; `content`: those of the 200 response; `isCached`: the response has an ETag and tells its age;
 *   `headers`: further ones of the 200 response; `codes`: of its errors, besides those of every route
 */
export const feedRoute = ({
  summary, params = {}, query, command, body, content, isCached = true, requestHeaders = {}, headers = {}, codes = []
}) => ({
  tags: ['feeds'],
  summary,
  ...(Object.keys(params).length > 0 ? { params: paramsSchema(params) } : {}),
  querystring: querySchema(query),
  headers: { type: 'object', properties: { ...(isCached ? IF_NONE_MATCH : {}), ...requestHeaders } },
  ...(body ? { body: { content: contentOf(body) } } : command ? { body: bodySchema(command) } : {}),
  response: {
    200: { description: summary, headers: { ...(isCached ? FRESHNESS : {}), ...headers }, content: contentOf(content) },
    ...(isCached ? { 304: { type: 'null', description: 'the client has the content: If-None-Match names it', headers: FRESHNESS } } : {}),
    ...problemsOf([...CODES_OF_ALL, ...CODES_OF_FEEDS, ...codes])
  }
})

/**
 * The schema of a route about this process.
 * @param {{ summary: string, type: string, content?: Record<string, unknown>, errors?: Record<number, unknown> }} route `type`: media
 *   type of the 200 response, with `content`, its schema; `errors`: besides those of every route, by status
 */
export const processRoute = ({ summary, type, content = { type: 'string' }, errors = {} }) => ({
  tags: ['operating'],
  summary,
  response: { 200: { description: summary, content: contentOf({ [type]: content }) }, ...problemsOf(CODES_OF_ALL), ...errors }
})

/** of commands */
const COMMAND_HEADERS = Object.freeze({
  ...schemaOf({ 'idempotency-key': described(ID_FIELD, 'repeating the command with the same key has one effect') }, () => false),
  additionalProperties: true
})
const ANY_BODY = Object.freeze({ content: contentOf({ 'application/json': { type: 'object' } }) })
const REPLAYED = Object.freeze({
  'Idempotent-Replayed': { type: 'string', enum: ['true'], description: 'the command was accepted before; this is its reply' }
})

/**
 * The schema of a route of a system such as auctions.
 * @param {{ summary: string, tag: string, params?: Fields, query?: Fields, command?: BodyFields | null, content: Record<number, object>,
 *   type?: string, codes: string[] }} route `command`: fields of a body that is a JSON object, null: any body, which the route reads;
 *   `content`: schemas by status; `type`: media type of the responses
 */
export const commandRoute = ({ summary, tag, params = {}, query, command, content, type = 'application/json', codes }) => ({
  tags: [tag],
  summary,
  ...(Object.keys(params).length > 0 ? { params: paramsSchema(params) } : {}),
  ...(query ? { querystring: querySchema(query) } : {}),
  ...(command === undefined ? {} : { headers: COMMAND_HEADERS, body: command === null ? ANY_BODY : bodySchema(command) }),
  response: {
    ...Object.fromEntries(Object.entries(content).map(([status, schema]) =>
      [status, { description: summary, ...(command === undefined ? {} : { headers: REPLAYED }), content: contentOf({ [type]: schema }) }])),
    ...problemsOf([...CODES_OF_ALL, 'NOT_READY', 'OVERLOADED', ...codes])
  }
})
