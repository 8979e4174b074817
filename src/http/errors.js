/** Error codes of HTTP, independent of routes; those of fields are in src/fields. */
import { define } from '../errors.js'
import { FIELD_ERRORS } from '../fields/index.js'

export { FreshetError } from '../errors.js'

const OF_HTTP = define('http', {
  UNAUTHORIZED: { status: 401, meaning: 'the bearer token is missing, unknown, revoked or expired' },
  FORBIDDEN: { status: 403, meaning: 'the bearer token does not have the scope, or is not for this feed or id' },
  NOT_FOUND: { status: 404, meaning: 'no route matches this path' },
  METHOD_NOT_ALLOWED: { status: 405, meaning: 'the path has routes for other methods only' },
  REQUEST_TIMEOUT: { status: 408, meaning: 'the request did not arrive in time' },
  PAYLOAD_TOO_LARGE: { status: 413, meaning: 'the body is larger than the limit' },
  URI_TOO_LONG: { status: 414, meaning: 'a part of the path is longer than the limit' },
  MEDIA_TYPE_UNSUPPORTED: { status: 415, meaning: 'the route does not accept this content type' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, meaning: 'the Idempotency-Key was accepted with another body' },
  RATE_LIMITED: { status: 429, retryable: true, meaning: 'more requests per second than one token or address may make' },
  CLIENT_GONE: { status: 499, meaning: 'the client closed its connection before its response was complete' },
  HEADERS_TOO_LARGE: { status: 431, meaning: 'the request line and headers are larger than the limit' },
  INTERNAL: { status: 500, meaning: 'unexpected error in this process' },
  NOT_READY: { status: 503, retryable: true, meaning: 'this process cannot serve its feeds at the moment' },
  OVERLOADED: { status: 503, retryable: true, meaning: 'too many requests, streams or open feeds are in use' },
  INGEST_FULL: {
    status: 503,
    retryable: true,
    meaning: 'too many bytes wait for acknowledgement, or the server accepts no writes; nothing of the request was accepted'
  }
})

export const HTTP_ERRORS = Object.freeze({ ...FIELD_ERRORS, ...OF_HTTP })
