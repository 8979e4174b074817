/** What the pages of systems share: their state, requests to reader and gateway, streams, and faults that can be switched. */
import { at, make, put, whileShown } from './elements.js'

const TRIES = 5
/** items of a page of a list */
export const PAGE = 1000
const RETRY_MS = 500
const REOPEN_MS = 3000
/** faults are switched by a browser on the same machine */
export const IS_HERE = ['127.0.0.1', 'localhost'].includes(location.hostname)
/** of circuit breakers, the best first @type {Readonly<Record<string, string>>} */
export const BREAKERS = Object.freeze({ closed: 'good', 'half-open': 'wait', open: 'bad' })

/** URL of the gateway; empty: this page sends no commands. */
export const gateway = () => /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="gateway"]'))?.content ?? ''

/** @param {string} kind @param {string} text */
export function state (kind, text) {
  at('state').dataset.state = kind
  put(at('state'), text)
}

/** The outcome of what the visitor did. @param {string} kind @param {string} text */
export function say (kind, text) {
  at('outcome').dataset.kind = kind
  put(at('outcome'), text)
}

/** From the reader. @param {string} path @returns {Promise<any>} @throws {Error & { status?: number }} */
export async function get (path) {
  const response = await fetch(path, { cache: 'no-store' })
  if (!response.ok) throw Object.assign(new Error(`status ${response.status}`), { status: response.status })
  return response.json()
}

/** All pages of a list. @param {string} path @returns {Promise<any[]>} @throws as get */
export async function getAll (path) {
  const all = []
  for (let after = ''; after !== null;) {
    const { items, next } = await get(`${path}?limit=${PAGE}${after && `&after=${encodeURIComponent(after)}`}`)
    all.push(...items)
    after = next
  }
  return all
}

/** A key of a command, or of several when something is added to it. */
export const newKey = () => `page-${Date.now()}-${Math.random().toString(36).slice(2)}`

/** Repeats while the page is visible. @param {() => Promise<number>} run returns ms until the next time @param {number} [failedMs] */
export async function repeat (run, failedMs = 1000) {
  let waitMs = failedMs
  try {
    if (!document.hidden) waitMs = await run()
  } catch {
    state('away', 'connecting again')
  }
  setTimeout(repeat, waitMs, run, failedMs)
}

/**
 * Sends a command, and repeats it with the same key until its outcome is known.
 * @param {string} path at the gateway @param {object | undefined} body @param {string} key
 * @param {{ signal?: AbortSignal, headers?: Record<string, string> }} [more]
 * @returns {Promise<{ status: number, reply: any }>} @throws {Error} without an outcome, or that the signal was aborted
 */
export async function send (path, body, key, { signal, headers = {} } = {}) {
  const all = { ...headers, 'idempotency-key': key, ...(body && { 'content-type': 'application/json' }) }
  for (let i = 1; ; i++) {
    const response = await fetch(gateway() + path, { method: 'POST', headers: all, body: JSON.stringify(body), signal }).catch(() => null)
    signal?.throwIfAborted()
    const reply = await response?.json().catch(() => null)
    if (response && response.status !== 503 && reply) return { status: response.status, reply }
    if (i === TRIES) {
      throw new Error(`${reply?.detail ?? 'The gateway does not answer'}: ${TRIES} attempts without an outcome. Try again.`)
    }
    say('', 'No answer yet, asking again.')
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

/**
 * Server-sent events of one thing at a time, while the page is visible; `follow` another one ends those before. A stream begins with all
 * that the page shows, so one that is opened again misses nothing.
 * @param {(id: string) => string} pathOf @param {Record<string, (data: any, id: string) => void>} handlers by event
 * @param {() => string} away what the state says while there is no connection
 */
export function createFollower (pathOf, handlers, away) {
  let current = ''
  const { restart } = whileShown((signal) => {
    const id = current
    const source = new EventSource(pathOf(id))
    signal.addEventListener('abort', () => source.close())
    for (const [name, take] of Object.entries(handlers)) source.addEventListener(name, ({ data }) => take(JSON.parse(data), id))
    source.onopen = () => state('live', 'live')
    source.onerror = () => {
      state('away', away())
      // browsers do not reconnect after an error status
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (!signal.aborted) restart() }, REOPEN_MS)
    }
  })

  return {
    /** @param {string} id @returns {boolean} whether it is another one than before */
    follow (id) {
      if (id === current) return false
      current = id
      restart()
      return true
    }
  }
}

/**
 * A menu of the faults of a process on this machine.
 * @param {readonly (readonly [name: string, meaning: string, body: Record<string, unknown> | null])[]} faults null = no fault
 * @param {string} url of the process @param {string} name of what has the fault
 * @returns {HTMLElement}
 */
export function createFaults (faults, url, name) {
  const options = faults.map(([value, meaning]) => make('option', { value }, value + meaning))
  const select = make('select', { onchange: () => change(faults[select.selectedIndex][2]) }, ...options)
  select.setAttribute('aria-label', `Fault of ${name}`)
  const outcome = make('span', { className: 'outcome' })
  outcome.setAttribute('role', 'status')

  /** @param {RequestInit} [request] */
  async function ask (request) {
    try {
      const active = await (await fetch(`${url}/faults`, request)).json()
      const on = faults.findIndex(([,, body]) => body !== null && Object.entries(body).every(([fact, value]) => active[fact] === value))
      select.selectedIndex = Math.max(0, on)
      select.classList.toggle('on', on > 0)
      put(outcome, '')
    } catch {
      put(outcome, `${name} does not answer.`)
    }
  }
  const change = (/** @type {object | null} */ body) => ask(body === null
    ? { method: 'DELETE' }
    : { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })

  ask()
  return make('p', { className: 'fault' }, make('span', { className: 'quiet' }, 'Fault'), select, outcome)
}
