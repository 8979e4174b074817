/**
 * The local payment provider over HTTP.
 *
 *     POST /v1/payments {key, amount, currency}     authorize
 *     POST /v1/payments/:key/capture, /void, /refund
 *     GET  /v1/payments/:key
 *     GET  /ledger?after=&limit=                    its entries, and totals
 *
 * Each operation has at most one effect, and its reply says how the payment is. Faults are switched as demo/local/service.js says.
 *
 * @typedef {{ latencyMs: number | null, declineRate: number, captureDeclineRate: number, errorRate: number, silentRate: number,
 *   isDown: boolean, callbacks: number, callbackAfterMs: number }} Faults `captureDeclineRate`: the issuer refuses to capture what it has
 *   authorized; `silentRate`: effects without a reply; `callbacks` of each change
 */
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { SettingsInvalid } from '../../src/errors.js'
import { createHttpClient } from '../../src/http-client.js'
import { MAX_ORDERS, signatureOf } from '../../src/systems/orders/index.js'
import { createLocalService } from '../local/service.js'

/**
 * The ledger: what became of each payment, by its key. With a file, a change is written there before its reply is sent, so a process that
 * is killed loses nothing.
 *
 * @typedef {{ key: string, amount: number, currency: string, status: 'authorized' | 'captured' | 'declined' | 'voided' | 'refunded',
 *   captured: number, refunded: number, captures: number, at: number }} Entry `amount`, `captured`, `refunded`: minor units; `at`: ms since
 *   1970 of the last change
 */

/** @typedef {ReturnType<typeof openLedger>} Ledger */

/** @param {string | null} file null: in memory only @throws {SettingsInvalid} */
export function openLedger (file) {
  /** @type {Map<string, Entry>} */
  const entries = new Map()
  if (file !== null && existsSync(file)) for (const entry of entriesIn(file)) entries.set(entry.key, entry)
  const written = file === null ? null : openSync(file, 'a')

  /** @param {Entry} entry @returns {Entry} */
  function store (entry) {
    if (written !== null) writeSync(written, JSON.stringify(entry) + '\n')
    entries.set(entry.key, entry)
    return entry
  }

  /** @param {string} key @param {Partial<Entry>} change */
  const change = (key, change) => store(/** @type {Entry} */ ({ ...entries.get(key), ...change, at: Date.now() }))

  /** @param {string} key @param {number} amount @param {string} currency @param {Entry['status']} status */
  const add = (key, amount, currency, status) =>
    store({ key, amount, currency, status, captured: 0, refunded: 0, captures: 0, at: Date.now() })

  return {
    /** @param {string} key */
    get: (key) => entries.get(key),

    /** @param {{ key: string, amount: number, currency: string }} payment @param {boolean} isDeclined @returns {Entry} */
    authorize: ({ key, amount, currency }, isDeclined) =>
      entries.get(key) ?? add(key, amount, currency, isDeclined ? 'declined' : 'authorized'),

    /** @param {string} key of an entry @param {() => boolean} isDeclined asked if it is authorized @returns {Entry} */
    capture (key, isDeclined) {
      const entry = /** @type {Entry} */ (entries.get(key))
      if (entry.status !== 'authorized') return entry
      if (isDeclined()) return change(key, { status: 'declined' })
      return change(key, { status: 'captured', captured: entry.amount, captures: entry.captures + 1 })
    },

    /** Also of a payment that comes later. @param {string} key @returns {Entry} */
    void (key) {
      const entry = entries.get(key)
      if (entry === undefined) return add(key, 0, '', 'voided')
      return entry.status === 'authorized' ? change(key, { status: 'voided' }) : entry
    },

    /** @param {string} key of an entry @returns {Entry} */
    refund (key) {
      const entry = /** @type {Entry} */ (entries.get(key))
      return entry.status === 'captured' ? change(key, { status: 'refunded', refunded: entry.captured }) : entry
    },

    /** The oldest first. @param {{ after: number, limit: number }} page `after`: how many to leave out */
    page ({ after, limit }) {
      const items = [...entries.values()].slice(after, after + limit)
      return { items, next: after + items.length < entries.size ? after + items.length : null }
    },

    totals () {
      const totals = { payments: entries.size, captured: 0, refunded: 0, twice: 0 }
      for (const { captured, refunded, captures } of entries.values()) {
        totals.captured += captured
        totals.refunded += refunded
        totals.twice += captures > 1 ? 1 : 0
      }
      return totals
    },

    close () { if (written !== null) closeSync(written) }
  }
}

/** @param {string} file @returns {Entry[]} @throws {SettingsInvalid} */
function entriesIn (file) {
  const lines = readFileSync(file, 'utf8').split('\n')
  // a process that was killed may have left a line without its end
  const whole = lines.slice(0, -1)
  try {
    const entries = whole.map((line) => JSON.parse(line))
    truncateSync(file, Buffer.byteLength(whole.map((line) => line + '\n').join('')))
    return entries
  } catch (error) {
    throw new SettingsInvalid([`ledger: ${file} is no ledger: ${error.message}; expected a file that npm start payments has written`])
  }
}

const RATE = Object.freeze({ off: 0, range: /** @type {const} */ ([0, 1]) })
/** @type {import('../local/service.js').FaultTable} */
const FAULTS = Object.freeze({
  latencyMs: { off: null, range: [0, 60_000] },
  declineRate: RATE,
  captureDeclineRate: RATE,
  errorRate: RATE,
  silentRate: RATE,
  isDown: { off: false },
  callbacks: { off: 1, range: [0, 10] },
  callbackAfterMs: { off: 0, range: [0, 3_600_000] }
})
const KEY = { type: 'string', pattern: '^[A-Za-z0-9_.:-]{1,64}$' }
const PAYMENT = {
  type: 'object',
  additionalProperties: false,
  required: ['key', 'amount', 'currency'],
  properties: { key: KEY, amount: { type: 'integer', minimum: 1 }, currency: { type: 'string', pattern: '^[a-z]{3}$' } }
}
const PAGE = {
  type: 'object',
  additionalProperties: false,
  properties: {
    after: { type: 'integer', minimum: 0, default: 0 },
    limit: { type: 'integer', minimum: 1, maximum: 100_000, default: 1000 }
  }
}
const SILENT = Symbol('no reply')
/** Time that it takes to reply; a fault `latencyMs` is another one. */
const LATENCY_MS = 5

/**
 * @param {{ ledger: Ledger, latencyMs?: number, callbackUrl: string | null, secret: string | null,
 *   log: import('pino').Logger }} parts
 * @returns {import('fastify').FastifyInstance} not listening yet
 */
export function createPaymentServer ({ ledger, latencyMs = LATENCY_MS, callbackUrl, secret, log }) {
  const { app, faults } = /** @type {{ app: import('fastify').FastifyInstance, faults: () => Faults }} */ (
    createLocalService({ table: FAULTS, log }))
  const callbacks = createCallbacks({ url: callbackUrl, secret, log })
  const due = /** @type {Record<string, number>} */ ({})
  app.addHook('onClose', async () => callbacks.close())

  /** Faults have exactly their share. @param {'declineRate' | 'captureDeclineRate' | 'errorRate' | 'silentRate'} name */
  function isDue (name) {
    due[name] = (due[name] ?? 0) + faults()[name]
    if (due[name] < 1) return false
    due[name] -= 1
    return true
  }

  /**
   * @param {import('fastify').FastifyReply} reply @param {string} key
   * @param {() => Entry} effect
   */
  async function perform (reply, key, effect) {
    await sleep(faults().latencyMs ?? latencyMs)
    if (faults().isDown) return lose(reply)
    if (isDue('errorRate')) return reply.code(500).send({ error: 'fault errorRate' })
    const before = ledger.get(key)
    const entry = effect()
    if (entry !== before) callbacks.note(entry, faults())
    // the effect stays, without a reply
    return isDue('silentRate') ? lose(reply) : entry
  }

  /** @param {import('fastify').FastifyReply} reply */
  function lose (reply) {
    reply.hijack()
    if (faults().isDown) reply.raw.destroy()
    return SILENT
  }

  app.post('/v1/payments', { schema: { body: PAYMENT } }, (request, reply) => {
    const payment = /** @type {any} */ (request.body)
    const existing = ledger.get(payment.key)
    if (existing && existing.status !== 'voided' && existing.amount !== payment.amount) {
      return reply.code(422).send({ error: `payment ${payment.key} has the amount ${existing.amount}, not ${payment.amount}` })
    }
    return perform(reply, payment.key, () => ledger.authorize(payment, !existing && isDue('declineRate')))
  })
  for (const operation of /** @type {const} */ (['capture', 'void', 'refund'])) {
    app.post(`/v1/payments/:key/${operation}`, { schema: { params: { type: 'object', properties: { key: KEY } } } }, (request, reply) => {
      const { key } = /** @type {any} */ (request.params)
      if (operation !== 'void' && !ledger.get(key)) return reply.code(404).send({ error: `there is no payment ${key}` })
      return perform(reply, key, () => ledger[operation](key, () => isDue('captureDeclineRate')))
    })
  }
  app.get('/v1/payments/:key', async (request, reply) => {
    const { key } = /** @type {any} */ (request.params)
    await sleep(faults().latencyMs ?? latencyMs)
    if (faults().isDown) return lose(reply)
    return ledger.get(key) ?? reply.code(404).send({ error: `there is no payment ${key}` })
  })
  app.get('/ledger', { schema: { querystring: PAGE } }, async (request) =>
    ({ totals: ledger.totals(), ...ledger.page(/** @type {any} */ (request.query)) }))
  return app
}

// Callbacks: after changes of payments their keys and statuses are sent to a URL, signed, all of a moment in one request; one that fails is
// repeated once.

const TIMEOUT_MS = 2000
/** Between two requests: an order waits for none of them. */
const EVERY_MS = 500
const REPEAT_AFTER_MS = 1000

/** @typedef {{ key: string, status: string }} Change */

/** @param {{ url: string | null, secret: string | null, log: import('pino').Logger }} options */
function createCallbacks ({ url, secret, log }) {
  /** @type {Set<NodeJS.Timeout>} */
  const timers = new Set()
  /** Those of the next request; by how often a change is said, because each time has a request of its own. @type {Change[][]} */
  const due = []
  let isClosed = false
  const client = url === null ? null : createHttpClient({ url, timeoutMs: TIMEOUT_MS })

  /** @param {string} body */
  async function send (body) {
    const seconds = Math.floor(Date.now() / 1000)
    /** @type {Record<string, string>} */
    const signature = secret === null ? {} : { 'payment-signature': signatureOf(secret, body, seconds) }
    const reply = await client?.call('POST', null, { body, headers: { 'content-type': 'application/json', ...signature } })
    if (Number(reply?.status) >= 300) throw new Error(`status ${reply?.status}`)
  }

  /** @param {number} ms @param {() => void} run */
  function after (ms, run) {
    if (isClosed) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      run()
    }, ms)
    timers.add(timer)
  }

  function sendDue () {
    for (const all of due.splice(0)) {
      while (all.length > 0) {
        const some = all.splice(0, MAX_ORDERS)
        const body = JSON.stringify(some)
        send(body).catch(() => after(REPEAT_AFTER_MS, () => send(body).catch((error) => {
          if (!isClosed) log.warn({ keys: some.map(({ key }) => key), reason: error.message }, 'a callback failed twice')
        })))
      }
    }
  }

  return {
    /** @param {Entry} entry @param {Faults} faults */
    note ({ key, status }, { callbacks, callbackAfterMs }) {
      if (url === null || callbacks === 0) return
      const add = () => {
        if (due.length === 0) after(EVERY_MS, sendDue)
        for (let i = 0; i < callbacks; i++) (due[i] ??= []).push({ key, status })
      }
      if (callbackAfterMs === 0) add()
      else after(callbackAfterMs, add)
    },

    /** Ends those on their way, too. */
    close () {
      isClosed = true
      for (const timer of timers) clearTimeout(timer)
      client?.close()
    }
  }
}
