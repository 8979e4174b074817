/** What the crowds of demos share: they are ordinary clients of gateway and reader. */
import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createHttpClient } from '../http-client.js'

const RETRY_MS = 1000
const CONNECTIONS = 200
const TICK_MS = 50
const BUSY = [429, 503]

/**
 * @typedef {{ status: number, retryMs: number, reply: any }} Reply
 * @typedef {{ body?: object, ticket?: string, until?: AbortSignal, tries?: number }} Options `until`: gives up; `tries` of `send`
 */

/** @param {{ gatewayUrl: string, readerUrl: string, signal: AbortSignal }} options */
export function createCrowdClient ({ gatewayUrl, readerUrl, signal }) {
  const gateway = createHttpClient({ url: gatewayUrl, maxSockets: CONNECTIONS })
  // everyone who waits has a request at the reader
  const reader = createHttpClient({ url: readerUrl })
  // one of each request in flight
  setMaxListeners(0, signal)
  signal.addEventListener('abort', () => [gateway, reader].forEach(({ close }) => close()))

  /** @param {string} method @param {string} path @param {Options} options @param {string} key @returns {Promise<Reply>} */
  async function ask (method, path, { body, ticket, until = signal }, key) {
    const client = method === 'GET' ? reader : gateway
    const headers = {
      ...(method === 'GET' ? {} : { 'idempotency-key': key }),
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(ticket ? { 'freshet-ticket': ticket } : {})
    }
    const reply = await client.call(method, path, { headers, body: body && JSON.stringify(body), signal: until })
    const after = reply.headers['retry-after']
    return { status: reply.status, retryMs: after ? 1000 * Number(after) : RETRY_MS, reply: JSON.parse(reply.text) }
  }

  /** Ends early with the demo. @param {number} ms */
  const pause = (ms) => sleep(ms, undefined, { signal }).catch(() => {})

  return {
    pause,
    personOf,
    userOf,
    productOf,

    /** Does something at a steady rate, until the demo ends. @param {number} perSecond @param {() => Promise<unknown>} act may fail */
    async repeat (perSecond, act) {
      for (let due = 0; !signal.aborted; await pause(TICK_MS)) {
        for (due += perSecond * TICK_MS / 1000; due >= 1; due--) act().catch(() => {})
      }
    },

    /**
     * Once, or again with the same key while the servers are busy or away.
     * @param {string} method @param {string} path @param {Options} [options]
     */
    async send (method, path, { tries = 1, ...options } = {}) {
      const key = randomUUID()
      for (let left = tries - 1; ; left--) {
        let retryMs = RETRY_MS
        try {
          const one = await ask(method, path, options, key)
          if (!BUSY.includes(one.status) || left <= 0) return one
          retryMs = one.retryMs
        } catch (error) {
          if (left <= 0 || (options.until ?? signal).aborted) throw error
        }
        await sleep(retryMs, undefined, { signal: options.until ?? signal })
      }
    }
  }
}

// Names of the people and products of the demos. The same index has the same name.

const FIRST = ('Anna Ben Chiara David Emma Farid Greta Hugo Ines Jonas Kofi Lena Mateo Nadia Oskar Priya Quentin Rosa Samir Tess ' +
  'Umar Vera Wei Ximena Yusuf Zoe Aino Bram Carla Dmitri Elif Finn Gwen Hana Igor Julia Kenji Lars Maya Nils').split(' ')
const LAST = ('Adler Bakker Costa Dubois Eriksen Fischer Garcia Haddad Ivanova Jensen Kowalski Larsen Moreau Nowak Okafor Petrov Quinn ' +
  'Rossi Sato Tanaka Ueda Virtanen Weber Xu Yilmaz Zimmer Almeida Berg Chen Dahl Evans Fontaine Gruber Horvat Ito Jovanovic Khan ' +
  'Lindqvist Mendes Novak Olsen Park Ramos Silva Thomas Urban Vogel Walsh Young Zhang').split(' ')
const KINDS = 'ash-wood copper linen enamel leather bamboo wool ceramic walnut steel'.split(' ')
const GOODS = 'tea-pot desk-lamp wall-clock bread-box key-ring serving-tray flower-pot pencil-case coat-hook picture-frame'.split(' ')

/** @param {number} i below 2,000 for different names @returns {string} */
const personOf = (i) => `${FIRST[i % FIRST.length]} ${LAST[(i + Math.floor(i / FIRST.length)) % LAST.length]}`

/** The name of a person as an id. @param {number} i @returns {string} */
const userOf = (i) => personOf(i).toLowerCase().replace(' ', '.')

/** @param {number} i below 100 for different products @returns {{ sku: string, name: string }} */
export function productOf (i) {
  const sku = `${KINDS[i % KINDS.length]}-${GOODS[(i + Math.floor(i / KINDS.length)) % GOODS.length]}`
  return { sku, name: sku.replaceAll('-', ' ').replace(/^./, (first) => first.toUpperCase()) }
}
