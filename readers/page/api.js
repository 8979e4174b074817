/** Requests to the reader that serves this page, with its token. */
import { at, put } from './elements.js'

/**
 * The token that the reader may require. It is sent to this reader only and kept until the tab is closed. Without a valid one the
 * page shows nothing else.
 */

const KEY = 'freshet-token'
const PATTERN = /^[\x21-\x7e]+$/
const FORBIDDEN = 403
let listeners = { onLocked () {}, onEntered () {} }
let entered = stored()

function stored () {
  try {
    return sessionStorage.getItem(KEY)
  } catch {
    return null // storage is disabled: the token lasts as long as the page
  }
}

if (entered !== null) document.body.classList.add('guarded')

/** @returns {string | null} */
export const token = () => entered

/** @param {typeof listeners} to `onLocked`: the reader requires another token; `onEntered`: the user entered one */
export const onToken = (to) => { listeners = to }

/** @param {number} status of the reply: 401, or 403 for a token that is not for this feed */
export function tokenRefused (status) {
  const isLocked = status !== FORBIDDEN
  put(at('token-why'), isLocked
    ? entered === null ? 'This reader requires a token.' : 'The reader rejected this token. Enter another one.'
    : 'This token does not permit reading this feed. Choose another feed, or enter another token.')
  at('token').hidden = false
  document.body.classList.add('guarded', 'locked')
  if (!isLocked) return
  at('token-text').focus({ preventScroll: true })
  listeners.onLocked()
}

/** Until a reply says otherwise. */
export function hideToken () {
  at('token').hidden = true
  document.body.classList.remove('locked')
}

at('token').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault()
  const text = at('token-text').value.trim()
  at('token-text').value = ''
  if (!PATTERN.test(text)) {
    return put(at('token-why'), 'A token consists of ASCII letters, digits and signs, without spaces.')
  }
  entered = text
  try {
    sessionStorage.setItem(KEY, text)
  } catch {}
  listeners.onEntered()
})

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
  const sentToken = token()
  const response = await fetch(path, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    cache: 'no-store',
    headers: sentToken === null ? {} : { authorization: `Bearer ${sentToken}` }
  })
  // a token entered in the meantime may be valid
  if ([401, 403].includes(response.status) && sentToken === token()) tokenRefused(response.status)
  if (!response.ok) throw new ErrorReply(response.status, await response.json().catch(() => ({})))
  return response.json()
}

/** @param {string} feed @param {string} [rest] */
export const pathOf = (feed, rest = '') => `/v1/feeds/${encodeURIComponent(feed)}${rest}`
