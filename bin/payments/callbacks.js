/** Callbacks: after each change of a payment its key and status are sent to a URL, signed; a callback that fails is not repeated. */
import { signatureOf } from '../../src/systems/orders/index.js'

const TIMEOUT_MS = 2000

/** @param {{ url: string | null, secret: string | null, log: import('pino').Logger }} options */
export function createCallbacks ({ url, secret, log }) {
  /** @type {Set<NodeJS.Timeout>} */
  const timers = new Set()

  /** @param {string} body */
  async function send (body) {
    const seconds = Math.floor(Date.now() / 1000)
    /** @type {Record<string, string>} */
    const signature = secret === null ? {} : { 'payment-signature': signatureOf(secret, body, seconds) }
    const reply = await fetch(String(url), {
      method: 'POST', body, headers: { 'content-type': 'application/json', ...signature }, signal: AbortSignal.timeout(TIMEOUT_MS)
    })
    await reply.arrayBuffer()
    if (!reply.ok) throw new Error(`status ${reply.status}`)
  }

  return {
    /** @param {import('./ledger.js').Entry} entry @param {import('./faults.js').Faults} faults */
    note ({ key, status }, { callbacks, callbackAfterMs }) {
      if (url === null) return
      const body = JSON.stringify({ key, status })
      for (let i = 0; i < callbacks; i++) {
        const timer = setTimeout(() => {
          timers.delete(timer)
          send(body).catch((error) => log.warn({ key, reason: error.message }, 'a callback failed'))
        }, callbackAfterMs)
        timers.add(timer)
      }
    },

    close () { for (const timer of timers) clearTimeout(timer) }
  }
}
