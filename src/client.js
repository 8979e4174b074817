/**
 * Follows feeds over HTTP: a snapshot, then changes as they come. When a connection ends or is silent, the client resumes
 * from the last position, at the next of several readers.
 *
 *     import { follow } from 'freshet-feed/client'
 *     for await (const { event, items } of follow('http://127.0.0.1:8080', 'latest', { ids: ['bus-7'] })) ...
 *     for await (const { event, feed, items } of follow('http://127.0.0.1:8080', ['buses', 'trams'])) ...
 *
 *     bytes -> events (createEventParser) -> one connection (eventsOf) -> all connections, one after another (run)
 *
 * It pulls: while the caller handles an event, nothing is read, the socket fills up, and the reader keeps only ids for it.
 *
 * It imports nothing and needs only `fetch`, so it also runs in Deno and Bun.
 *
 * The sources are in src/client; browsers load them as one file (/client.js), which `npm run client` writes.
 */
// Written from src/client/ by `npm run client`; change the files there.

/** Checks what `follow` is given, all faults at once, and the error of all parts. */

/** the response was no problem of a reader */
const HTTP_ERROR = 'HTTP_ERROR'
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
const invalid = (message) => new FollowError('ARGUMENT_INVALID', `follow: ${message}`, 0)

const SILENT_MS = 30_000
/** half of a surrogate pair, which cannot be part of an address */
const HALF_PAIR = /\p{Surrogate}/u

/** @param {unknown} value */
const isHeader = (value) => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)

/** @type {Record<string, { is: (value: any) => boolean, expects: string }>} */
const OPTIONS = {
  ids: {
    is: (value) => Array.isArray(value) && value.length > 0 && value.every((id) => typeof id === 'string' && id !== ''),
    expects: 'an array of one or more ids; default: all ids'
  },
  limit: { is: (value) => Number.isSafeInteger(value) && value >= 0, expects: 'a number of items, 0 or more' },
  maxRate: { is: (value) => Number.isFinite(value) && value > 0, expects: 'a number of deliveries per second, above 0' },
  encoding: { is: (value) => ['base64', 'utf8', 'json'].includes(value), expects: 'base64, utf8 or json' },
  from: { is: (value) => value === null || isHeader(value), expects: 'the position of an event, or null' },
  authToken: { is: isHeader, expects: 'a token, without spaces' },
  signal: {
    is: (value) => typeof value?.addEventListener === 'function' && typeof value.aborted === 'boolean',
    expects: 'the signal of an AbortController'
  },
  onRetry: { is: (value) => typeof value === 'function', expects: 'a function of an error and a wait in ms' },
  wait: { is: (value) => typeof value === 'boolean', expects: 'true or false' },
  onWaiting: { is: (value) => typeof value === 'function', expects: 'a function' },
  silentMs: { is: (value) => Number.isSafeInteger(value) && value > 0 && value < 2 ** 31, expects: 'milliseconds, 1 or more' },
  since: { is: (value) => Number.isSafeInteger(value) && value >= 0, expects: 'milliseconds since 1970' },
  tail: { is: (value) => Number.isSafeInteger(value) && value > 0, expects: 'a number of ids, 1 or more' }
}

/** @param {any} reader @param {any} feed @param {any} options */
function checked (reader, feed, options) {
  if (typeof options !== 'object' || options === null) throw invalid(`options: ${shown(options)}; expected an object`)
  const urls = [reader].flat()
  const faults = urls.filter((url) => !isAddress(url)).map((url) => `reader: ${shown(url)}; ` +
    'expected an address such as http://127.0.0.1:8080 (location.origin in a page of the reader), with a token in authToken')
  if (urls.length === 0) faults.push('reader: none; expected one or more addresses, such as http://127.0.0.1:8080')
  const feeds = [feed].flat()
  for (const name of feeds.length > 0 ? feeds : [undefined]) {
    if (typeof name === 'string' && name !== '' && !HALF_PAIR.test(name)) continue
    faults.push(`feed: ${shown(name)}; expected a feed name, such as latest`)
  }
  if (Array.isArray(feed) && options.wait === false) faults.push('wait: false; expected true with a list of feeds, which are waited for')
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) faults.push(`${name}: unknown option; expected one of ${Object.keys(OPTIONS).join(', ')}`)
    else if (value !== undefined && !OPTIONS[name].is(value)) {
      faults.push(`${name}: ${name === 'authToken' ? '(hidden)' : shown(value)}; expected ${OPTIONS[name].expects}`)
    }
  }
  if (faults.length > 0) throw invalid(faults.join('\n'))
  const {
    ids = [], limit, since, tail, maxRate, encoding = 'base64', from = null, onRetry, silentMs = SILENT_MS, authToken, signal,
    wait = true,
    onWaiting = (/** @type {string} */ name = feed) =>
      console.warn(`follow: feed ${name} has no items yet; waiting for the first (pass onWaiting to handle it)`)
  } = options
  const query = new URLSearchParams(ids.map((/** @type {string} */ id) => ['id', id]))
  for (const [name, value] of Object.entries({ limit, since, tail, maxRate, encoding })) {
    if (value !== undefined) query.set(name, String(value))
  }
  if (Array.isArray(feed)) for (const name of feeds) query.append('feed', name)
  else if (wait) query.set('wait', 'yes')
  const route = Array.isArray(feed) ? '/v1/live' : `/v1/feeds/${encodeURIComponent(feed)}/live`
  const path = `${route}?${query}`
  query.delete('tail')
  query.set('since', '0')
  return {
    urls: urls.map((url) => new URL(url).origin + new URL(url).pathname.replace(/\/+$/, '')),
    path,
    /** all from the beginning of the feed */
    wholePath: `${route}?${query}`,
    encoding: /** @type {Encoding} */ (encoding),
    from: /** @type {string | null} */ (from),
    authToken: /** @type {string | undefined} */ (authToken),
    signal: /** @type {AbortSignal | undefined} */ (signal),
    onRetry: /** @type {FollowOptions['onRetry']} */ (onRetry),
    onWaiting: /** @type {(feed?: string) => void} */ (onWaiting),
    silentMs
  }
}

/** @param {any} address */
function isAddress (address) {
  if (!(typeof address === 'string' || address instanceof URL) || !URL.canParse(String(address))) return false
  const { protocol, username, password, search, hash } = new URL(address)
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === ''
}

/** @param {unknown} value shown without credentials of an address */
function shown (value) {
  if (typeof value === 'string' || value instanceof URL) return JSON.stringify(String(value).replace(/\/\/.*@/, '//...@').slice(0, 100))
  if (value === null || ['number', 'boolean', 'undefined'].includes(typeof value)) return String(value)
  if (Array.isArray(value)) return `an array of ${value.length}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** One connection to a reader, its server-sent events, and the pause before the next one, which a page that wakes up shortens. */

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
const pause = (ms, leastMs, ended) => new Promise((resolve) => {
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
async function * eventsOf (url, { path, position, encoding, authToken, silentMs }, ended) {
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

/** @typedef {'base64' | 'utf8' | 'json'} Encoding of values over the wire */

/**
 * base64: bytes. utf8: text, or bytes if a value is not UTF-8. json: the parsed value, whose type is not checked, or bytes if a value is
 * not JSON.
 * @template {Encoding} [E='base64'] @template [T=any]
 * @typedef {E extends 'json' ? T : E extends 'utf8' ? string | Uint8Array : Uint8Array} LiveValue
 */

/**
 * `ts`: event time, ms since 1970; for deletions only if the layout of the feed keeps it.
 * @template {Encoding} [E='base64'] @template [T=any]
 * @typedef {{ id: string, ts: number, value: LiveValue<E, T>, deleted?: undefined } |
 *   { id: string, ts?: number, value?: undefined, deleted: true }} LiveItem
 */

/**
 * `snapshot`: the newest items, oldest first; they replace all earlier ones. `items`: changes, oldest first. `reset`: changes
 * may have been missed; a snapshot follows. `position`: for `from`, to resume after this event; null: a snapshot is needed. `feed`: which
 * one, if several are followed; the position is that of all. `complete`: false = the snapshot lacks items beyond a bound of the reader.
 * @template {Encoding} [E='base64'] @template [T=any]
 * @typedef {{ event: 'snapshot' | 'items', feed?: string, items: LiveItem<E, T>[], complete?: false, reason?: undefined,
 *   position: string | null } |
 *   { event: 'reset', feed?: string, items?: undefined, reason: string, position: string | null }} LiveEvent
 */

/**
 * @template {Encoding} [E='base64']
 * @typedef {object} FollowOptions
 * @property {readonly string[]} [ids] only these; default: all
 * @property {number} [limit] items in a snapshot
 * @property {number} [since] instead of a snapshot, all that was written since this time: ms since 1970, on the clock of the server
 * @property {number} [tail] instead of a snapshot, so many ids that changed last
 * @property {number} [maxRate] maximum deliveries per second; of an id that changes more often only the newest version comes
 * @property {E} [encoding] default: base64
 * @property {string | null} [from] the position of an earlier event, to resume after it
 * @property {string} [authToken]
 * @property {boolean} [wait] whether to wait for a feed that does not exist yet; its first snapshot then has all items of the feed.
 *   Default: true; false: such a feed is an error, FEED_UNKNOWN. A list of feeds is always waited for
 * @property {(feed?: string) => void} [onWaiting] called when a feed has no items yet, with its name if a list is followed; default:
 *   `console.warn`
 * @property {AbortSignal} [signal] ends the loop, without an error
 * @property {(error: Error, waitMs: number) => void} [onRetry] called with the reason why a connection ended, and the
 *   delay before the next one; default: the first one is printed by `console.warn`, unless events have come
 * @property {number} [silentMs] a connection without data for this long is closed; default: 30,000; readers send heartbeats every 10 s
 */

/**
 * @typedef {string | URL | readonly (string | URL)[]} Readers addresses, such as http://127.0.0.1:8080; the others are for failover
 */

/**
 * Ends when `signal` is aborted or the loop is left; reconnects for ever after errors that may pass, and throws a FollowError for others.
 * @type {{
 *   <T = any>(readers: Readers, feed: string | readonly string[], options: FollowOptions<'json'> & { encoding: 'json' }):
 *     AsyncGenerator<LiveEvent<'json', T>, void, void>,
 *   <E extends Encoding = 'base64'>(readers: Readers, feed: string | readonly string[], options?: FollowOptions<E>):
 *     AsyncGenerator<LiveEvent<E>, void, void>
 * }}
 * @throws {FollowError} ARGUMENT_INVALID, at once, with all faults; in the loop the codes of FollowError
 */
export const follow = (/** @type {any} */ readers, /** @type {any} */ feed, /** @type {any} */ options = {}) => {
  const over = new AbortController()
  const events = run(checked(readers, feed, options), over)
  const leave = events.return.bind(events)
  // else a generator first waits for its next event
  events.return = (value) => {
    over.abort()
    return leave(value)
  }
  return events
}

const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 10_000

/**
 * All connections, one after another: what is received, and where and when the next one begins.
 * @param {ReturnType<typeof checked>} plan @param {AbortController} over
 * @returns {AsyncGenerator<any, void, void>}
 */
async function * run ({ urls, from, signal, onRetry, onWaiting, path, wholePath, ...how }, over) {
  const ended = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  const readers = urls.map((url) => ({ url, notBeforeMs: 0 }))
  let reader = readers[0]
  let position = from
  let retryMs = 0
  let failures = 0
  // a wrong address must not look like a feed without changes
  let isQuiet = false
  /** Feeds that have no items yet; '' is the only one. @type {Set<string>} */
  const waiting = new Set()
  // the only feed was waited for, and it may begin while there is no connection
  let isFirst = false
  try {
    while (!ended.aborted) {
      let lost
      /** @type {string} */
      const where = isFirst && position === null ? wholePath : path
      for await (const received of eventsOf(reader.url, { ...how, path: where, position }, ended)) {
        if (ended.aborted) return
        lost = received.lost
        retryMs = received.retry ?? retryMs
        for (const feed of received.waiting ?? []) {
          if (!waiting.has(feed)) onWaiting(feed || undefined)
          waiting.add(feed)
          isFirst ||= feed === ''
        }
        if (received.event) waiting.delete(received.event.feed ?? '')
        if (typeof received.id === 'string') position = received.id || null
        else if (received.event?.event === 'reset') position = null
        if (position !== null) isFirst = false
        if (received.event || received.id || received.waiting) {
          failures = 0
          isQuiet = true
        }
        if (received.event) yield { ...received.event, position }
      }
      if (ended.aborted) return
      if (lost instanceof FollowError && !lost.retryable) {
        if (lost.code !== 'POSITION_INVALID' || position === null) throw lost
        // of a feed that was dropped and created again
        yield { event: 'reset', reason: 'invalid', position: position = null }
        continue
      }
      const nowMs = performance.now()
      const waitMs = Math.max(retryMs, Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** failures++) * (0.5 + Math.random() / 2))
      reader.notBeforeMs = nowMs + (lost.retryAfterMs ?? 0) * (1 + Math.random() / 4)
      reader = nextOf(readers, reader, nowMs + waitMs)
      const untilMs = Math.max(nowMs + waitMs, reader.notBeforeMs)
      if (onRetry) onRetry(lost, Math.round(untilMs - nowMs))
      else if (!isQuiet) console.warn(`follow: ${lost.message}; trying again until it answers (onRetry gets each failure)`)
      isQuiet = true
      await pause(untilMs - nowMs, reader.notBeforeMs - nowMs, ended)
    }
  } finally {
    over.abort()
  }
}

/**
 * The next reader in turn that may be tried by then, or the one that may be tried soonest.
 * @template {{ notBeforeMs: number }} R @param {R[]} readers @param {R} last @param {number} whenMs @returns {R}
 */
function nextOf (readers, last, whenMs) {
  const at = readers.indexOf(last) + 1
  const inTurn = [...readers.slice(at), ...readers.slice(0, at)]
  return inTurn.find(({ notBeforeMs }) => notBeforeMs <= whenMs) ?? inTurn.sort((a, b) => a.notBeforeMs - b.notBeforeMs)[0]
}
