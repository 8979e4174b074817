/** One connection to a reader. */
import { FollowError, HTTP_ERROR } from './error.js'
import { createEventParser, eventIn, MAX_RETRY_AFTER_MS } from './events.js'
import { onWake } from './waking.js'

/** @import { Encoding } from './types.js' */

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
