/**
 * Errors as problem+json (RFC 9457): type, title, status, detail, and a stable `code` for callers to test. All codes
 * registered with src/errors.js are supported.
 *
 * Client errors include their facts. For server errors the caller receives the code and whether to retry; message and stack
 * go to the log only, because they may name servers, users and commands. While a server is down every request fails alike,
 * so each code is logged at most once per second, with the number of messages suppressed.
 */
import { asError, cutText, kindOf } from '../errors.js'
import { FreshetError, HTTP_ERRORS } from './errors.js'

const OF_CONTENT = [
  'content-encoding', 'etag', 'age', 'cache-status', 'freshet-as-of', 'freshet-complete', 'freshet-lag-ms', 'freshet-next', 'freshet-stale'
]

/**
 * @typedef {{ status: number, code: string, title: string, detail: string, retryable: boolean, facts: Record<string,
 *   unknown> }} Problem
 */

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'
const MAX_DETAIL_CHARS = 1000
const LOG_EVERY_MS = 1000
const STREAM_TYPE = 'text/event-stream'
/** of Retry-After: 1, 2 or 3 s */
const SPREAD_S = 3
const BUSY = Object.freeze([503, 429])
const SEE_LOG = 'the log of this process has the cause, under the requestId'

/** The server refuses this process. That is not the caller's fault and may be fixed at any time, so the caller may retry. */
const FIXABLE = Object.freeze(['SERVER_REFUSED', 'SERVER_UNTRUSTED'])

/** Codes for errors of fastify and node, by status. */
const CODE_OF_STATUS = new Map(Object.entries(HTTP_ERRORS)
  .filter(([, { status }]) => Number(status) < 500).map(([code, { status }]) => [status, code]))

/** @param {any} error @returns {Problem} for the caller */
export function problemOf (error) {
  const kind = error instanceof FreshetError ? kindOf(error.code) : undefined
  if (kind) return knownProblem(error, kind)
  const status = error?.statusCode >= 400 && error?.statusCode < 500 ? error.statusCode : 500
  const code = status === 500 ? 'INTERNAL' : CODE_OF_STATUS.get(status) ?? 'REQUEST_INVALID'
  const detail = status === 500 ? SEE_LOG : String(error.message)
  return { status, code, title: HTTP_ERRORS[code].meaning, detail, retryable: false, facts: {} }
}

/** @param {FreshetError} error @param {import('../errors.js').ErrorKind} kind @returns {Problem} */
function knownProblem ({ code, message, name: _name, retryable, exitStatus: _exitStatus, ...rest }, { status, meaning: title }) {
  const facts = /** @type {Record<string, unknown>} */ (rest)
  if (FIXABLE.includes(code)) {
    const why = facts.publicWhy ? ` (${facts.publicWhy})` : ''
    const detail = `the servers are unusable now${why}; ${SEE_LOG}: try again`
    return { status: 503, code: 'NOT_READY', title: HTTP_ERRORS.NOT_READY.meaning, detail, retryable: true, facts: {} }
  }
  if (status !== null) {
    const { publicWhy = message, ...shown } = facts
    return { status, code, title, detail: String(publicWhy), retryable, facts: shown }
  }
  const detail = retryable ? String(facts.publicWhy ?? 'the servers are unavailable now; try again') : SEE_LOG
  return { status: retryable ? 503 : 500, code, title, detail, retryable, facts: {} }
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
  }, (_, value) => typeof value === 'string' ? cutText(value) : value)
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
    // of the content that could not be sent
    for (const name of OF_CONTENT) reply.removeHeader(name)
    const retryAfterS = retryAfterOf(problem)
    if (retryAfterS !== null) reply.header('retry-after', String(retryAfterS))
    if (typeof problem.facts.lagMs === 'number') reply.header('freshet-lag-ms', String(Math.round(problem.facts.lagMs)))
    if (BUSY.includes(problem.status) && isEventSource(request)) {
      return reply.code(200).header('content-type', STREAM_TYPE).header('cache-control', 'no-store, no-transform')
        .send(`: ${problem.code}\nretry: ${Number(retryAfterS) * 1000}\n\n`)
    }
    if (problem.status === 405) reply.header('allow', /** @type {string[]} */ (problem.facts.allow).join(', '))
    if (problem.status === 401 && !reply.hasHeader('www-authenticate')) reply.header('www-authenticate', 'Bearer')
    reply.code(problem.status).header('content-type', PROBLEM_TYPE).header('cache-control', 'no-store')
      .send(problemText(problem, request.id))
  }
}

/**
 * Whether a request is of an `EventSource`, which browsers send with these two headers. After an error status it never reconnects;
 * after a stream that ends it does.
 * @param {import('fastify').FastifyRequest} request
 */
const isEventSource = ({ headers: { accept, 'cache-control': caching } }) => accept === STREAM_TYPE && caching === 'no-cache'

/**
 * Those that are refused together do not come back together; an error that names its time has seen to that.
 * @param {Problem} problem @returns {number | null} seconds
 */
function retryAfterOf ({ status, facts: { retryAfterMs } }) {
  if (retryAfterMs !== undefined) return Math.max(1, Math.ceil(Number(retryAfterMs) / 1000))
  return BUSY.includes(status) ? 1 + Math.floor(Math.random() * SPREAD_S) : null
}

/** @param {import('fastify').FastifyBaseLogger} log */
function createFailureLog (log) {
  /** @type {Map<string, { loggedAt: number, suppressed: number }>} one entry per code */
  const seen = new Map()
  /** @param {Problem} problem @param {any} error @param {import('fastify').FastifyRequest} request */
  return ({ code, status }, error, request) => {
    const now = performance.now()
    const { loggedAt, suppressed } = seen.get(code) ?? { loggedAt: -Infinity, suppressed: 0 }
    if (now - loggedAt < LOG_EVERY_MS) return seen.set(code, { loggedAt, suppressed: suppressed + 1 })
    seen.set(code, { loggedAt: now, suppressed: 0 })
    // not the whole error: errors of a client library have the command and its arguments
    const { message, stack } = asError(error)
    const cause = error?.code === code ? undefined : error?.code
    const route = request.routeOptions.url
    log[status === 500 ? 'error' : 'warn']({
      code, cause, status, requestId: request.id, route, suppressed, stack: status === 500 ? cutText(String(stack)) : undefined
    }, message)
  }
}
