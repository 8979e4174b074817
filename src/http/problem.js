/**
 * Every error leaves as problem+json (RFC 9457): type, title, status, detail, and a stable `code`, which is what
 * callers test. Core errors keep their codes; what only HTTP knows has the codes below. docs/errors.md prints both.
 *
 * A request's own faults are told with their facts. Of a fault on our side the caller learns the code and whether to
 * try again; message and stack go to the log alone, because they may name servers, users and commands. When a server is
 * gone each request fails alike, so a code is logged at most once a second, with the number of those left out.
 */
import { STATUS_CODES, maxHeaderSize } from 'node:http'
import { ERRORS, FreshetError } from '../errors.js'

/** @typedef {{ status: number, code: string, title: string, detail: string, retryable: boolean, facts: Record<string, unknown> }} Problem */

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'
const MAX_DETAIL_CHARS = 1000
const LOG_EVERY_MS = 1000

/** @type {Readonly<Record<string, { status: number, meaning: string }>>} */
export const HTTP_ERRORS = Object.freeze({
  REQUEST_INVALID: { status: 400, meaning: 'a path, query field, header or body that the route does not take' },
  UNAUTHORIZED: { status: 401, meaning: 'the bearer token is missing or is another one' },
  FEEDS_FULL: { status: 403, meaning: 'there is no such feed, and this gateway may create no more' },
  NOT_FOUND: { status: 404, meaning: 'no route has that method and path' },
  ITEM_UNKNOWN: { status: 404, meaning: 'no live item has that id' },
  REQUEST_TIMEOUT: { status: 408, meaning: 'the request did not arrive in time' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'the body is above the limit' },
  URI_TOO_LONG: { status: 414, meaning: 'a part of the path is above the limit' },
  MEDIA_TYPE_UNSUPPORTED: { status: 415, meaning: 'the route does not take a body of that type' },
  EXPECTATION_UNKNOWN: { status: 417, meaning: 'an Expect header other than 100-continue' },
  HEADERS_TOO_LARGE: { status: 431, meaning: 'request line and headers are above the limit' },
  INTERNAL: { status: 500, meaning: 'something failed here that should not' },
  NOT_READY: { status: 503, meaning: 'this process cannot answer for its feeds now' },
  OVERLOADED: { status: 503, meaning: 'as many requests, streams or open feeds are in use as are allowed' },
  INGEST_FULL: { status: 503, meaning: 'as many bytes wait for their acknowledgement as are allowed, or the server takes no writes; nothing of the request was taken' },
  ACK_UNKNOWN: { status: 503, meaning: 'the items were not acknowledged in time; they may be stored or not, and repeating is safe' }
})

/** A server that refuses this process: no doing of the caller, who may ask again, since somebody can mend it any moment. */
const MENDABLE = Object.freeze(['SERVER_REFUSED', 'SERVER_UNTRUSTED'])

/** Where a core error is the caller's own doing; other core errors are 503 when retryable or mendable, else 500. */
const CORE_STATUS = Object.freeze({
  FEED_NAME_INVALID: 400,
  FEED_UNKNOWN: 404,
  ITEM_ID_INVALID: 400,
  ITEM_TS_INVALID: 400,
  ITEM_VALUE_INVALID: 400,
  ITEM_VALUE_TOO_LARGE: 413,
  ITEM_TOO_OLD: 400,
  ITEM_FROM_FUTURE: 400,
  CURSOR_INVALID: 400,
  POSITION_INVALID: 400,
  VIEW_NEEDED: 501,
  INPUT_INVALID: 400
})

/** Which of our codes an error of fastify or node has, by its status. */
const CODE_OF_STATUS = new Map(Object.entries(HTTP_ERRORS)
  .filter(([code, { status }]) => status < 500 && code !== 'ITEM_UNKNOWN').map(([code, { status }]) => [status, code]))

/** @type {Readonly<Record<string, { code: string, detail: string }>>} by node's code: what never becomes a request */
const REFUSED_BY_NODE = Object.freeze({
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'REQUEST_TIMEOUT', detail: 'head and body of a request must arrive within 10 s' },
  HPE_HEADER_OVERFLOW: { code: 'HEADERS_TOO_LARGE', detail: `the request line and the headers together are above ${maxHeaderSize} bytes` },
  HPE_INVALID_URL: { code: 'REQUEST_INVALID', detail: 'the path or query has characters that HTTP does not allow; write the bytes of text beyond ASCII percent-encoded, such as %C3%A9' }
})

/** An error that only HTTP knows. */
export class HttpError extends Error {
  /**
   * @param {string} code a key of HTTP_ERRORS
   * @param {string} message what was received, what is expected, what to change
   * @param {Record<string, unknown>} [facts] members of the problem
   */
  constructor (code, message, facts = {}) {
    super(message)
    if (!HTTP_ERRORS[code]) throw new TypeError(`${code} is not in HTTP_ERRORS`)
    this.name = 'HttpError'
    this.code = code
    this.facts = facts
  }
}

/** @param {any} error @returns {Problem} what the caller is told */
export function problemOf (error) {
  if (error instanceof HttpError) {
    const { status, meaning } = HTTP_ERRORS[error.code]
    return { status, code: error.code, title: meaning, detail: error.message, retryable: status === 503, facts: error.facts }
  }
  if (error instanceof FreshetError) return coreProblem(error)
  const status = error?.statusCode >= 400 && error?.statusCode < 500 ? error.statusCode : 500
  const code = status === 500 ? 'INTERNAL' : CODE_OF_STATUS.get(status) ?? 'REQUEST_INVALID'
  const detail = status === 500 ? 'the log of this process has the cause under the requestId' : String(error.message)
  return { status, code, title: HTTP_ERRORS[code].meaning, detail, retryable: false, facts: {} }
}

/** @param {FreshetError} error @returns {Problem} */
function coreProblem ({ code, message, name: _name, retryable, exitStatus: _exitStatus, ...rest }) {
  const facts = /** @type {Record<string, unknown>} */ (rest)
  if (MENDABLE.includes(code)) {
    const { status, meaning } = HTTP_ERRORS.NOT_READY
    const why = facts.publicWhy ? ` (${facts.publicWhy})` : ''
    return { status, code: 'NOT_READY', title: meaning, detail: `the servers of this feed cannot be used now${why}; the log of this process has the cause under the requestId: try again`, retryable: true, facts: {} }
  }
  const status = /** @type {Record<string, number>} */ (CORE_STATUS)[code] ?? (retryable ? 503 : 500)
  const title = ERRORS[code].meaning
  if (status < 500) return { status, code, title, detail: message, retryable, facts }
  const detail = retryable ? 'the servers of this feed cannot answer now; try again' : 'the log of this process has the cause under the requestId'
  return { status, code, title, detail, retryable, facts: {} }
}

/** @param {Problem} problem @param {string} [requestId] @returns {string} the body */
export function problemText ({ status, code, title, detail, retryable, facts }, requestId) {
  return JSON.stringify({
    type: `urn:freshet:error:${code}`,
    title,
    status,
    detail: detail.length > MAX_DETAIL_CHARS ? detail.slice(0, MAX_DETAIL_CHARS) + '...' : detail,
    code,
    retryable,
    ...facts,
    ...(status >= 500 && requestId ? { requestId } : {})
  })
}

/**
 * @param {import('fastify').FastifyBaseLogger} log
 * @returns {(error: any, request: import('fastify').FastifyRequest, reply: import('fastify').FastifyReply) => void}
 *   for setErrorHandler and frameworkErrors
 */
export function createErrorHandler (log) {
  const logFailure = createFailureLog(log)
  return (error, request, reply) => {
    const problem = problemOf(error)
    if (problem.status >= 500) logFailure(problem, error, request)
    if (problem.status === 503) reply.header('retry-after', '1')
    if (problem.status === 401) reply.header('www-authenticate', 'Bearer')
    reply.code(problem.status).header('content-type', PROBLEM_TYPE).header('cache-control', 'no-store')
      .send(problemText(problem, request.id))
  }
}

/** @param {import('fastify').FastifyBaseLogger} log */
function createFailureLog (log) {
  /** @type {Map<string, { loggedAt: number, leftOut: number }>} one entry a code, and codes are a closed list */
  const seen = new Map()
  /** @param {Problem} problem @param {any} error @param {import('fastify').FastifyRequest} request */
  return ({ code, status }, error, request) => {
    const now = performance.now()
    const { loggedAt, leftOut } = seen.get(code) ?? { loggedAt: -Infinity, leftOut: 0 }
    if (now - loggedAt < LOG_EVERY_MS) return seen.set(code, { loggedAt, leftOut: leftOut + 1 })
    seen.set(code, { loggedAt: now, leftOut: 0 })
    // by hand: a client library's error carries the command it belonged to, with its arguments
    const { message, stack } = error ?? {}
    log[status === 500 ? 'error' : 'warn']({ code, cause: error?.code === code ? undefined : error?.code, status, requestId: request.id, route: request.routeOptions.url, leftOut, stack: status === 500 ? stack : undefined }, message)
  }
}

/** @type {(request: import('fastify').FastifyRequest) => never} for setNotFoundHandler */
export const refuseUnknownRoute = ({ method, url }) => {
  throw new HttpError('NOT_FOUND', `${method} ${url.split('?', 1)[0]} is not a route; /docs lists them`)
}

/** What node's parser refuses before there is a request: answered on the bare socket. @param {any} error @param {import('node:net').Socket} socket */
export function refuseOnSocket (error, socket) {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const { code, detail } = REFUSED_BY_NODE[error.code] ?? { code: 'REQUEST_INVALID', detail: 'this is not a request that HTTP/1.1 allows' }
  const { status } = HTTP_ERRORS[code]
  const body = problemText(problemOf(new HttpError(code, detail)))
  if (socket.writable) {
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${PROBLEM_TYPE}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
  }
  socket.destroy()
}
