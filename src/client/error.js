/** Why following ends, or why a reader refused. */
/** the response was no problem of a reader */
export const HTTP_ERROR = 'HTTP_ERROR'
/** 4xx that are retried, and 5xx that is not */
const RETRYABLE = [408, 425, 429]
const NOT_IMPLEMENTED = 501

/**
 * A reader refused to stream. `code` is that of its problem, such as FEED_UNKNOWN, UNAUTHORIZED or OVERLOADED; or HTTP_ERROR if the
 * response was no problem of a reader, as of a proxy that has lost its reader; or NOT_EVENTS; or ARGUMENT_INVALID. `retryable`: the
 * client reconnects, and `onRetry` gets the error.
 */
export class FollowError extends Error {
  /**
   * @param {string} code @param {string} message
   * @param {number} status of HTTP; 0 = no response
   * @param {number} [retryAfterMs] not before
   */
  constructor (code, message, status, retryAfterMs = 0) {
    super(message)
    this.name = 'FollowError'
    this.code = code
    this.status = status
    this.retryable = code === HTTP_ERROR || (status >= 500 ? status !== NOT_IMPLEMENTED : RETRYABLE.includes(status))
    this.retryAfterMs = retryAfterMs
  }
}

/** @param {string} message */
export const invalid = (message) => new FollowError('ARGUMENT_INVALID', `follow: ${message}`, 0)
