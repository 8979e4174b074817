/**
 * Calls of other programs over HTTP: payment providers, exchanges, issuers of tokens, and what demos send.
 *
 * node:http with kept connections: a call by fetch costs about three times as much (docs/decisions/025-prices-sources.md). Redirects are
 * not followed, and bodies are bounded.
 *
 * A call fails with the `code` of an Error: ETIMEDOUT no whole reply within the deadline, EMSGSIZE the body is too large, others as Node.js
 * has them (ECONNREFUSED, ECONNRESET). A call whose signal is aborted fails with the reason of the signal.
 *
 * @typedef {{ status: number, headers: import('node:http').IncomingHttpHeaders, text: string }} Reply
 * @typedef {{ body?: string, headers?: Record<string, string>, signal?: AbortSignal, readsBody?: (status: number) => boolean }} CallOptions
 *   `signal`: gives up; `readsBody`: false = the reply ends with its headers, and the connection is closed
 * @typedef {{ timeoutMs: number, maxBytes: number, inFlight: Set<(error: Error) => void>, isClosed: () => boolean }} Bounds
 *   `inFlight`: fails each call
 */
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { urlToHttpOptions } from 'node:url'

const MAX_BYTES = 16 * 1024 * 1024
const CLOSED = 'the client was closed'

/**
 * @param {{ url: string, headers?: Record<string, string>, timeoutMs?: number, maxBytes?: number, maxSockets?: number,
 *   maxFreeSockets?: number }} options `url`: paths are below it; `headers`: of each call; `timeoutMs`: of a call, from its start
 */
export function createHttpClient ({ url, headers = {}, timeoutMs = Infinity, maxBytes = MAX_BYTES, maxSockets, maxFreeSockets }) {
  const parsed = new URL(url)
  const { protocol, pathname, search } = parsed
  const { hostname, port, auth } = urlToHttpOptions(parsed)
  const isSecure = protocol === 'https:'
  const request = isSecure ? requestHttps : requestHttp
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets, maxFreeSockets })
  const target = { host: hostname, port, auth, agent }
  const base = pathname.replace(/\/+$/, '')
  let isClosed = false
  /** @type {Bounds} */
  const bounds = { timeoutMs, maxBytes, inFlight: new Set(), isClosed: () => isClosed }

  return {
    /**
     * @param {string} method @param {string | null} path with its query; null: the URL itself
     * @param {CallOptions} [options]
     * @returns {Promise<Reply>}
     */
    call: (method, path, options = {}) => exchange(request, {
      ...target, method, path: path === null ? `${pathname}${search}` : base + path, headers: { ...headers, ...options.headers }
    }, options, bounds),

    /** Calls fail, also those that wait for a connection, and later ones. */
    close () {
      isClosed = true
      for (const fail of bounds.inFlight) fail(failed('ECONNRESET', CLOSED))
      agent.destroy()
    }
  }
}

/**
 * @param {typeof requestHttp} request @param {import('node:http').RequestOptions} target
 * @param {CallOptions} options @param {Bounds} bounds
 * @returns {Promise<Reply>}
 */
const exchange = (request, target, { body, signal, readsBody }, bounds) => new Promise((resolve, reject) => {
  const { timeoutMs, maxBytes, inFlight, isClosed } = bounds
  if (isClosed()) return reject(failed('ECONNRESET', CLOSED))
  let isOver = false
  let sent = start()
  // a timer of our own: a signal that is aborted later would cost more than the request
  const timer = timeoutMs === Infinity ? undefined : setTimeout(() => fail(failed('ETIMEDOUT', 'no reply in time')), timeoutMs)
  const onAbort = () => fail(signal?.reason)
  inFlight.add(fail)
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()

  function end () {
    isOver = true
    inFlight.delete(fail)
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }

  /** @param {Error} error */
  function fail (error) {
    if (isOver) return
    end()
    sent.destroy()
    reject(error)
  }

  /** @param {Reply} reply */
  function succeed (reply) {
    if (isOver) return
    end()
    resolve(reply)
  }

  function start () {
    const clientRequest = request(target, (response) => {
      const { statusCode: status = 0, headers } = response
      if (readsBody && !readsBody(status)) {
        succeed({ status, headers, text: '' })
        clientRequest.destroy()
      } else collect(response, maxBytes, (text) => succeed({ status, headers, text }), fail)
    })
    return clientRequest.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      // a kept connection ended without a reply, mostly because it was idle; a GET changes nothing, so it is sent again
      const isIdleEnd = clientRequest.reusedSocket && error.code === 'ECONNRESET' && target.method === 'GET'
      if (isIdleEnd && !isOver && !isClosed()) sent = start()
      else fail(error)
    }).end(body)
  }
})

/**
 * @param {import('node:http').IncomingMessage} response @param {number} maxBytes
 * @param {(text: string) => void} succeed @param {(error: Error) => void} fail
 */
function collect (response, maxBytes, succeed, fail) {
  /** @type {Buffer[]} */
  const parts = []
  let bytes = 0
  response.on('data', (/** @type {Buffer} */ part) => {
    bytes += part.length
    parts.push(part)
    if (bytes > maxBytes) fail(failed('EMSGSIZE', `a reply of more than ${maxBytes.toLocaleString('en')} bytes`))
  })
  response.once('end', () => succeed((parts.length === 1 ? parts[0] : Buffer.concat(parts)).toString())).once('error', fail)
}

/** @param {string} code @param {string} message */
const failed = (code, message) => Object.assign(new Error(message), { code })
