/**
 * The token that streams of the reader may require. It is sent to this reader only and kept until the tab is closed. Without it
 * the page polls.
 */
import { at, put } from './elements.js'

const KEY = 'freshet-token'
const PATTERN = /^[\x21-\x7e]+$/
/** @type {Set<() => void>} */
const listeners = new Set()
let entered = stored()

function stored () {
  try {
    return sessionStorage.getItem(KEY)
  } catch {
    return null // storage is disabled: the token lasts as long as the page
  }
}

/** @returns {string | null} */
export const token = () => entered

/** @param {() => void} listener called when another token is entered @param {AbortSignal} signal ends it */
export function onToken (listener, signal) {
  listeners.add(listener)
  signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
}

export function tokenRefused () {
  put(at('token-why'), entered === null
    ? 'Live updates from this reader require a token. Without one, this page is updated twice a second.'
    : 'The reader rejected this token. Enter another one, or continue without.')
  at('token').hidden = false
}

/** The reader accepted the token, or requires none. */
export function tokenAccepted () {
  at('token').hidden = true
}

at('token').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault()
  const text = at('token-text').value.trim()
  at('token-text').value = ''
  if (text !== '' && !PATTERN.test(text)) {
    return put(at('token-why'), 'A token consists of ASCII letters, digits and signs, without spaces.')
  }
  entered = text === '' ? null : text
  try {
    if (entered === null) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, entered)
  } catch {}
  for (const listener of [...listeners]) listener()
})
