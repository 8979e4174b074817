/** Callbacks: after each change of a payment its key and status are sent to a URL, signed; a callback that fails is not repeated. */
import { once } from 'node:events'
import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { signatureOf } from '../../src/systems/orders/index.js'

const TIMEOUT_MS = 2000

/** @param {{ url: string | null, secret: string | null, log: import('pino').Logger }} options */
export function createCallbacks ({ url, secret, log }) {
  /** @type {Set<NodeJS.Timeout>} */
  const timers = new Set()
  let isClosed = false
  const isSecure = url?.startsWith('https:') ?? false
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true })
  const request = isSecure ? requestHttps : requestHttp

  /** @param {string} body */
  async function send (body) {
    const seconds = Math.floor(Date.now() / 1000)
    /** @type {Record<string, string>} */
    const signature = secret === null ? {} : { 'payment-signature': signatureOf(secret, body, seconds) }
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...signature }
    const sent = request(String(url), { method: 'POST', agent, headers, timeout: TIMEOUT_MS })
    sent.once('timeout', () => sent.destroy(new Error('no reply in time')))
    sent.end(body)
    const [reply] = await once(sent, 'response')
    reply.resume()
    if (reply.statusCode >= 300) throw new Error(`status ${reply.statusCode}`)
  }

  return {
    /** @param {import('./ledger.js').Entry} entry @param {import('./server.js').Faults} faults */
    note ({ key, status }, { callbacks, callbackAfterMs }) {
      if (url === null) return
      const body = JSON.stringify({ key, status })
      for (let i = 0; i < callbacks; i++) {
        const timer = setTimeout(() => {
          timers.delete(timer)
          send(body).catch((error) => {
            if (!isClosed) log.warn({ key, reason: error.message }, 'a callback failed')
          })
        }, callbackAfterMs)
        timers.add(timer)
      }
    },

    /** Ends those on their way, too. */
    close () {
      isClosed = true
      for (const timer of timers) clearTimeout(timer)
      agent.destroy()
    }
  }
}
