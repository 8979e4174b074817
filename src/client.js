/**
 * Follows a feed of a reader over HTTP, from Node 20 on or any other place with `fetch`: a snapshot, then changes as they
 * come. When the connection ends it goes on behind the last position, on the next of several readers.
 *
 *     import { follow } from 'freshet/client'
 *     for await (const { event, items } of follow('http://127.0.0.1:8080', 'latest', { ids: ['bus-7'] })) ...
 *
 * It imports nothing of ours but the base of errors, so that it can be used apart from servers.
 */

/**
 * @typedef {object} LiveItem
 * @property {string} id
 * @property {number} [ts] ms since 1970; absent of a deletion where the layout does not keep it
 * @property {any} [value] bytes (Uint8Array); with `encoding` utf8 text, with json what the JSON says, bytes where a value is not that
 * @property {true} [deleted]
 *
 * @typedef {{ event: 'snapshot' | 'items', items: LiveItem[], position: string | null } | { event: 'reset', reason: string, position: null }} LiveEvent
 *   `snapshot`: the newest, oldest first: whatever was known before is replaced; `items`: changes, oldest first; `reset`: changes may
 *   have been missed, a snapshot follows
 *
 * @typedef {object} FollowOptions
 * @property {string[]} [ids] only these; without it all
 * @property {number} [limit] of the snapshot, 100 unless given
 * @property {number} [maxRate] events a second at most; of an id that changes more often only the newest version comes
 * @property {'base64' | 'utf8' | 'json'} [encoding]
 * @property {string | null} [from] a position: go on behind it
 * @property {string} [authToken]
 * @property {AbortSignal} [signal] ends it
 * @property {(error: Error, waitMs: number) => void} [onRetry] hears why it connects again
 */

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 10_000
/** heartbeats come each 10 s */
const SILENT_MS = 30_000
/** an event that is larger is none of a reader */
const MAX_EVENT_CHARS = 64 * 1024 * 1024

/** A reader said that it will not stream that. */
export class FollowError extends Error {
  /** @param {string} code @param {string} message @param {number} status */
  constructor (code, message, status) {
    super(message)
    this.name = 'FollowError'
    this.code = code
    this.status = status
  }
}

/**
 * @param {string | string[]} urls of readers
 * @param {string} feed
 * @param {FollowOptions} [options]
 * @returns {AsyncGenerator<LiveEvent, void, void>} ends when `signal` is aborted
 * @throws {FollowError} when the reader refuses (4xx), such as FEED_UNKNOWN, UNAUTHORIZED, REQUEST_INVALID
 */
export async function * follow (urls, feed, { ids, limit, maxRate, encoding, from = null, authToken, signal, onRetry = () => {} } = {}) {
  const bases = [urls].flat()
  if (bases.length === 0) throw new TypeError('follow: no address; expected one or more, such as http://127.0.0.1:8080')
  const query = new URLSearchParams()
  for (const id of ids ?? []) query.append('id', id)
  for (const [name, value] of Object.entries({ limit, maxRate, encoding })) if (value !== undefined) query.set(name, String(value))
  let position = from
  let waitMs = FIRST_WAIT_MS
  let retryMs = FIRST_WAIT_MS

  for (let n = 0; !signal?.aborted; n++) {
    const url = `${bases[n % bases.length].replace(/\/+$/, '')}/v1/feeds/${encodeURIComponent(feed)}/live?${query}`
    try {
      for await (const { event, data, id, retry } of eventsOf(url, { position, authToken, signal })) {
        if (retry !== null) retryMs = retry
        if (id !== null) position = id
        if (data === null) continue
        waitMs = FIRST_WAIT_MS
        if (event === 'reset') yield { event, reason: String(JSON.parse(data).reason), position: position = null }
        else if (event === 'snapshot' || event === 'items') yield { event, items: JSON.parse(data).items.map(decoded(encoding)), position }
      }
      waitMs = Math.max(waitMs, retryMs)
    } catch (error) {
      if (signal?.aborted) return
      if (error instanceof FollowError && error.status < 500) {
        if (error.code !== 'POSITION_INVALID' || position === null) throw error
        // of a feed that was dropped and created again
        yield { event: 'reset', reason: 'invalid', position: position = null }
        continue
      }
      onRetry(error, waitMs)
    }
    await pause(waitMs * (0.5 + Math.random() / 2), signal)
    waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs)
  }
}

/**
 * @param {string} url
 * @param {{ position: string | null, authToken?: string, signal?: AbortSignal }} options
 * @returns {AsyncGenerator<{ event: string, data: string | null, id: string | null, retry: number | null }>} until the connection ends
 */
async function * eventsOf (url, { position, authToken, signal }) {
  const over = new AbortController()
  const abort = () => over.abort()
  signal?.addEventListener('abort', abort, { once: true })
  let timer = setTimeout(abort, SILENT_MS)
  try {
    const response = await fetch(url, {
      signal: over.signal,
      headers: {
        accept: 'text/event-stream',
        ...(position !== null && { 'last-event-id': position }),
        ...(authToken !== undefined && { authorization: `Bearer ${authToken}` })
      }
    })
    if (response.status !== 200 || response.body === null) throw await refusalOf(response)
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of response.body) {
      clearTimeout(timer)
      timer = setTimeout(abort, SILENT_MS)
      text += decoder.decode(bytes, { stream: true })
      if (text.length > MAX_EVENT_CHARS) throw new Error(`an event of more than ${MAX_EVENT_CHARS} characters`)
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        yield fieldsOf(text.slice(0, end))
        text = text.slice(end + 2)
      }
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    over.abort()
  }
}

/** @param {string} block */
function fieldsOf (block) {
  let event = 'message'
  /** @type {string | null} */
  let data = null
  /** @type {string | null} */
  let id = null
  /** @type {number | null} */
  let retry = null
  for (const line of block.split('\n')) {
    const at = line.indexOf(':')
    const name = at < 0 ? line : line.slice(0, at)
    const value = line.slice(at + (line[at + 1] === ' ' ? 2 : 1))
    if (name === 'event') event = value
    else if (name === 'data') data = data === null ? value : `${data}\n${value}`
    else if (name === 'id') id = value
    else if (name === 'retry' && /^\d+$/.test(value)) retry = Number(value)
  }
  return { event, data, id, retry }
}

/** @param {Response} response */
async function refusalOf (response) {
  const text = await response.text()
  try {
    const { code, detail } = JSON.parse(text)
    return new FollowError(String(code), `${code}: ${detail}`, response.status)
  } catch {
    return new FollowError('HTTP', `status ${response.status}: ${text.slice(0, 200)}`, response.status)
  }
}

/** @param {FollowOptions['encoding']} wanted @returns {(item: any) => LiveItem} */
const decoded = (wanted = 'base64') => ({ value, encoding = wanted, ...item }) =>
  item.deleted ? item : { ...item, value: encoding === 'base64' ? Uint8Array.from(atob(value), (character) => character.charCodeAt(0)) : value }

/** @param {number} ms @param {AbortSignal} [signal] */
const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms)
  signal?.addEventListener('abort', () => {
    clearTimeout(timer)
    resolve(undefined)
  }, { once: true })
})
