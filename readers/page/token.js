/**
 * The token that pushing may need. Whoever has one types it; it stays in this tab, until that is closed, and goes nowhere
 * but to this reader. Without one the page asks instead.
 */
import { at, put } from './elements.js'

const KEY = 'freshet-token'
const PATTERN = /^[\x21-\x7e]+$/
/** @type {Set<() => void>} */
const listeners = new Set()
let typed = stored()

function stored () {
  try {
    return sessionStorage.getItem(KEY)
  } catch {
    return null // storage is forbidden: it lasts as long as the page
  }
}

/** @returns {string | null} */
export const token = () => typed

/** @param {() => void} listener hears of another token @param {AbortSignal} signal until then */
export function onToken (listener, signal) {
  listeners.add(listener)
  signal.addEventListener('abort', () => listeners.delete(listener), { once: true })
}

/** The reader refused. */
export function tokenRefused () {
  put(at('token-why'), typed === null
    ? 'This reader pushes changes only to holders of a token. Without one the page asks twice a second instead.'
    : 'This reader does not take that token. Type another, or go on without.')
  at('token').hidden = false
}

/** The reader took it, or needs none. */
export function tokenTaken () {
  at('token').hidden = true
}

at('token').addEventListener('submit', (/** @type {Event} */ event) => {
  event.preventDefault()
  const text = at('token-text').value.trim()
  at('token-text').value = ''
  if (text !== '' && !PATTERN.test(text)) return put(at('token-why'), 'A token has letters, digits and signs, without spaces.')
  typed = text === '' ? null : text
  try {
    if (typed === null) sessionStorage.removeItem(KEY)
    else sessionStorage.setItem(KEY, typed)
  } catch {}
  for (const listener of [...listeners]) listener()
})
