/** HTTP calls of a payment provider, within a deadline. */
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { FreshetError } from '../errors.js'

const MAX_SOCKETS = 256
/** Whether the effect of a request with this status is unknown. */
const isUnknown = (/** @type {number} */ status) => status >= 500 || status === 408 || status === 409 || status === 429

/**
 * @param {{ url: string, key: string | null, timeoutMs: number }} options `key`: of the API, sent as a bearer token
 * @returns {{ call: import('./payments.js').Call, close: () => void }} `call` throws PAYMENT_UNKNOWN: no usable reply, PAYMENT_REFUSED
 */
export function createCall ({ url, key, timeoutMs }) {
  const { protocol, hostname, port, pathname } = new URL(url)
  const isSecure = protocol === 'https:'
  const send = isSecure ? requestHttps : requestHttp
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: MAX_SOCKETS })
  const target = { host: hostname.replace(/^\[|\]$/g, ''), port, agent }
  const base = pathname.replace(/\/+$/, '')
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` }

  /**
   * @param {import('node:http').RequestOptions} options @param {string} body
   * @returns {Promise<{ status: number, text: string }>} @throws {Error} no whole reply in time
   */
  const exchange = (options, body) => new Promise((resolve, reject) => {
    const request = send(options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => { text += part })
      response.once('error', reject).once('end', () => resolve({ status: Number(response.statusCode), text }))
    })
    // a timer of our own: a signal that is aborted later would cost more than the request
    const timer = setTimeout(() => request.destroy(new Error('no reply in time')), timeoutMs)
    request.once('close', () => clearTimeout(timer)).once('error', reject).end(body)
  })

  return {
    async call (method, path, { body = '', headers = {} } = {}) {
      const length = method === 'GET' ? {} : { 'content-length': Buffer.byteLength(body) }
      const options = { ...target, method, path: base + path, headers: { ...authorization, ...headers, ...length } }
      const { status, text } = await exchange(options, body).catch((error) => { throw unknown(error.message) })
      if (isUnknown(status)) throw unknown(`status ${status}`)
      try {
        return { status, json: JSON.parse(text) }
      } catch {
        throw unknown('a reply that is not JSON')
      }
    },

    close: () => agent.destroy()
  }
}

/** @param {string} why */
const unknown = (why) => new FreshetError('PAYMENT_UNKNOWN', `the payment provider: ${why}; the result is looked up`, { isOutside: true })
