/** One connection to a reader, its server-sent events, and the pause before the next one, which a page that wakes up shortens. */
import { FollowError, HTTP_ERROR } from './options.js'

/** @import { Encoding } from './index.js' */

/** a page was frozen, or its machine slept or was offline: timers and connections may be dead */
const WAKE_EVENTS = ['visibilitychange', 'pageshow', 'online']

/**
 * Calls back when a page is shown again or is online again; in Node never.
 * @param {() => void} listener @param {AbortSignal} until
 */
function onWake (listener, until) {
  const page = /** @type {any} */ (globalThis)
  const ifShown = () => { if (page.document?.visibilityState !== 'hidden') listener() }
  for (const name of WAKE_EVENTS) page.addEventListener?.(name, ifShown, { signal: until })
}

/**
 * @param {number} ms @param {number} leastMs a page that wakes up waits only this long @param {AbortSignal} ended
 * @returns {Promise<void>}
 */
export const pause = (ms, leastMs, ended) => new Promise((resolve) => {
  const begunMs = performance.now()
  const isOver = new AbortController()
  let timer = setTimeout(over, ms)
  function over () {
    clearTimeout(timer)
    ended.removeEventListener('abort', over)
    isOver.abort()
    resolve()
  }
  ended.addEventListener('abort', over)
  onWake(() => {
    clearTimeout(timer)
    timer = setTimeout(over, begunMs + leastMs - performance.now())
  }, isOver.signal)
})

/** a reader may ask for at most this delay */
const MAX_RETRY_AFTER_MS = 3_600_000
/** readers send events of at most 512 KiB, or one item */
const MAX_EVENT_CHARS = 32 * 1024 * 1024
/** a comment of a stream whose feed does not exist yet; of one of several feeds it is named */
const NO_ITEMS = /^no items yet(?: in (\S+))?$/

/**
 * Parses server-sent events (HTML standard, 9.2.6) from text in pieces of any size. Each character is read once.
 *
 * @typedef {{ name: string, data: string | null, id: string | null, retry: number | null, waiting?: string[] }} Block `data` null: no
 *   event, only a position or a delay; `waiting`: feeds that have no items yet, as comments say, '' = the one that is followed
 *
 * @param {number} [maxChars] of an event
 * @returns {(text: string) => Generator<Block, void, void>}
 */
export function createEventParser (maxChars = MAX_EVENT_CHARS) {
  /** @returns {Block} */
  const empty = () => ({ name: '', data: null, id: null, retry: null })
  let block = empty()
  let line = ''
  let endedInCr = false

  function addField () {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    const [isWaiting, feed = ''] = (name === '' && NO_ITEMS.exec(value)) || []
    if (isWaiting) block.waiting = [...block.waiting ?? [], feed]
    else if (name === 'event') block.name = value
    else if (name === 'data') block.data = block.data === null ? value : `${block.data}\n${value}`
    else if (name === 'id' && !value.includes('\0')) block.id = value
    else if (name === 'retry' && /^\d+$/.test(value)) block.retry = Math.min(Number(value), MAX_RETRY_AFTER_MS)
  }

  return function * (text) {
    if (text === '') return
    let at = endedInCr && text[0] === '\n' ? 1 : 0
    endedInCr = text.endsWith('\r')
    for (let lf = -1, cr = -1; ;) {
      if (lf < at) lf = indexOrEnd('\n', text, at)
      if (cr < at) cr = indexOrEnd('\r', text, at)
      const end = Math.min(lf, cr)
      line += text.slice(at, end)
      if (line.length + (block.data?.length ?? 0) > maxChars) throw new Error(`an event of more than ${maxChars} characters`)
      if (end === text.length) return
      at = end + (text.startsWith('\r\n', end) ? 2 : 1)
      if (line === '') {
        const whole = block
        block = empty()
        if (whole.data !== null || whole.id !== null || whole.retry !== null || whole.waiting) yield whole
      } else addField()
      line = ''
    }
  }
}

/** @param {string} what @param {string} text @param {number} from */
function indexOrEnd (what, text, from) {
  const at = text.indexOf(what, from)
  return at < 0 ? text.length : at
}

/**
 * @param {string} name @param {string} data @param {Encoding} encoding
 * @returns {any} without its position; null: unknown to this version
 */
function eventIn (name, data, encoding) {
  if (name !== 'reset' && name !== 'snapshot' && name !== 'items') return null
  const { items, reason, feed, complete } = JSON.parse(data)
  const of = feed === undefined ? {} : { feed }
  if (name === 'reset') return { event: name, ...of, reason: String(reason) }
  for (const item of items) {
    if (item.deleted) continue
    if ((item.encoding ?? encoding) === 'base64') item.value = bytesOf(item.value)
    delete item.encoding
  }
  return { event: name, ...of, items, ...(complete === false && { complete }) }
}

/** @param {string} base64 */
function bytesOf (base64) {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at)
  return bytes
}

/** heartbeats come every 10 s; a connection silent for longer when a page wakes is taken for dead */
const SILENT_AWAKE_MS = 15_000
const MAX_REFUSAL_CHARS = 64 * 1024
const OK = 200
const PROBLEM_TYPE = /^application\/problem\+json\s*(;|$)/i

/**
 * What one connection delivers; the last value has `lost`, the reason why it ended.
 * @param {string} url of a reader
 * @param {{ path: string, position: string | null, encoding: Encoding, authToken?: string, silentMs: number }} how
 * @param {AbortSignal} ended
 * @returns {AsyncGenerator<{ event?: any, id?: string | null, retry?: number | null, waiting?: string[], lost?: any }>}
 */
export async function * eventsOf (url, { path, position, encoding, authToken, silentMs }, ended) {
  const connection = new AbortController()
  const close = () => connection.abort()
  ended.addEventListener('abort', close)
  /** when the data that is awaited was asked for; of the wall clock: others may stand still while a machine sleeps */
  let askedMs = NaN
  let silence = 0
  /** @param {number} ms */
  function giveUp (ms) {
    silence = ms
    close()
  }
  onWake(() => { if (Date.now() - askedMs > Math.min(silentMs, SILENT_AWAKE_MS)) giveUp(Date.now() - askedMs) }, connection.signal)
  /** @template T @param {Promise<T>} coming @returns {Promise<T>} */
  async function withTimeout (coming) {
    askedMs = Date.now()
    const timer = setTimeout(giveUp, silentMs, silentMs)
    return coming.finally(() => {
      clearTimeout(timer)
      askedMs = NaN
    })
  }
  try {
    const response = await withTimeout(fetch(url + path, {
      signal: connection.signal,
      headers: {
        accept: 'text/event-stream',
        ...(position !== null && { 'last-event-id': position }),
        ...(authToken !== undefined && { authorization: `Bearer ${authToken}` })
      }
    }))
    const decoder = new TextDecoder()
    const body = response.body?.getReader()
    const read = async () => {
      const { value } = body ? await withTimeout(body.read()) : { value: undefined }
      return value === undefined ? null : decoder.decode(value, { stream: true })
    }
    if (response.status !== OK) throw await refusalOf(url, response, read)
    const type = response.headers.get('content-type')
    if (!/^text\/event-stream\s*(;|$)/i.test(type ?? '')) {
      throw new FollowError('NOT_EVENTS',
        `${url} responded with ${type ?? 'no content type'} instead of events; is it the address of a reader?`, OK)
    }
    const take = createEventParser()
    for (let text = await read(); text !== null; text = await read()) {
      for (const { name, data, ...rest } of take(text)) yield { ...rest, event: data === null ? null : eventIn(name, data, encoding) }
    }
    throw new Error('the stream ended')
  } catch (error) {
    yield { lost: error instanceof FollowError ? error : lossOf(url, silence > 0 ? new Error(`no data for ${silence} ms`) : error) }
  } finally {
    ended.removeEventListener('abort', close)
    close()
  }
}

/** @param {string} url @param {Response} response @param {() => Promise<string | null>} read */
async function refusalOf (url, { status, headers }, read) {
  let text = ''
  for (let part = await read(); part !== null && text.length < MAX_REFUSAL_CHARS; part = await read()) text += part
  const after = headers.get('retry-after') ?? ''
  const afterMs = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now()
  const retryAfterMs = Math.min(MAX_RETRY_AFTER_MS, Math.max(0, afterMs || 0))
  if (PROBLEM_TYPE.test(headers.get('content-type') ?? '')) {
    try {
      const { code, detail } = JSON.parse(text)
      if (typeof code === 'string') return new FollowError(code, `${url}: ${code}: ${detail}`, status, retryAfterMs)
    } catch {
      // it was cut off
    }
  }
  return new FollowError(HTTP_ERROR, `${url} responded with status ${status}: ${text.slice(0, 200).trim() || '(empty)'}`, status,
    retryAfterMs)
}

/** An error of fetch has its reason in `cause`. @param {string} url @param {any} error */
function lossOf (url, error) {
  const cause = error?.cause ?? error
  return new Error(`${url}: ${cause?.message || cause?.code || error?.message || `${cause} was thrown`}`, { cause })
}
