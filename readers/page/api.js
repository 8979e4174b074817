/** Requests to the reader that serves this page. */
import { token, tokenRefused } from './token.js'

const TIMEOUT_MS = 5000

/** An error reply (problem+json). */
class ErrorReply extends Error {
  /** @param {number} status @param {{ code?: string, detail?: string, [fact: string]: any }} problem */
  constructor (status, problem) {
    super(problem.detail ?? `status ${status}`)
    this.status = status
    this.code = problem.code ?? 'HTTP'
    this.problem = problem
  }
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {Promise<any>} the body
 * @throws {ErrorReply} or an error of `fetch`, without `status`, if there is no reply
 */
export async function getJson (path, signal) {
  const known = token()
  const response = await fetch(path, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    cache: 'no-store',
    headers: known === null ? {} : { authorization: `Bearer ${known}` }
  })
  // a token entered in the meantime may be valid
  if ([401, 403].includes(response.status) && known === token()) tokenRefused(response.status)
  if (!response.ok) throw new ErrorReply(response.status, await response.json().catch(() => ({})))
  return response.json()
}

/** @param {string} feed @param {string} [rest] */
export const pathOf = (feed, rest = '') => `/v1/feeds/${encodeURIComponent(feed)}${rest}`
