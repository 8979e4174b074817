/** Checks what `follow` is given, all faults at once, and the error of all parts. */

/** @import { Encoding, FollowOptions } from './index.js' */

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
export function checked (reader, feed, options) {
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
