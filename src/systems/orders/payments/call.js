/** HTTP calls of a payment provider, within a deadline. */
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { FreshetError } from '../errors.js'

const MAX_SOCKETS = 256
/** Whether the effect of a request with this status is unknown. */
const isUnknown = (/** @type {number} */ status) => status >= 500 || status === 408 || status === 409 || status === 429

/**
 * @param {{ url: string, key: string | null, timeoutMs: number }} options `key`: of the API, sent as a bearer token
 * @returns {{ call: import('./payments.js').Call, close: () => void }} `call` throws PAYMENT_UNKNOWN: no usable reply, PAYMENT_REFUSED
 */
export function createCall ({ url, key, timeoutMs }) {
  const isSecure = url.startsWith('https:')
  const base = url.replace(/\/+$/, '')
  const send = isSecure ? requestHttps : requestHttp
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: MAX_SOCKETS })
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` }

  return {
    async call (method, path, { body = '', headers = {} } = {}) {
      const { status, text: reply } = await new Promise((resolve, reject) => {
        const signal = AbortSignal.timeout(timeoutMs)
        const length = method === 'GET' ? {} : { 'content-length': Buffer.byteLength(body) }
        const request = send(base + path, { method, agent, signal, headers: { ...authorization, ...headers, ...length } }, (response) => {
          text(response).then((whole) => resolve({ status: Number(response.statusCode), text: whole }), reject)
        })
        request.once('error', reject).end(body)
      }).catch((error) => { throw unknown(['AbortError', 'TimeoutError'].includes(error.name) ? 'no reply in time' : error.message) })
      if (isUnknown(status)) throw unknown(`status ${status}`)
      try {
        return { status, json: JSON.parse(reply) }
      } catch {
        throw unknown('a reply that is not JSON')
      }
    },

    close: () => agent.destroy()
  }
}

/** @param {string} why */
const unknown = (why) => new FreshetError('PAYMENT_UNKNOWN', `the payment provider: ${why}; the result is looked up`, { isOutside: true })
