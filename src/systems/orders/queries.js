/**
 * Queries about orders: from memory, else from a replica, else from the primary (src/admission/key-view.js); orders that have left the
 * servers come from SQL.
 *
 * @typedef {{ key: string, partition: number, generation: string, fields: Record<string, string>, events: Record<string, any>[],
 *   isLast?: boolean }} KeyState as `find` of readers returns it
 *
 * @import { Reader, ReaderParts, Stored, StreamRoute, System } from 'freshet-feed/systems'
 */
import { fields, queries, schemas } from 'freshet-feed/systems'
import { FreshetError } from './errors.js'
import { idOfKey, orderKey, SAGA } from './keys.js'
import { PRODUCT } from './products.js'
import { isFinal, orderOf, statusOf, stepOf } from './replies.js'

/**
 * Order statistics: rates, times and the latest orders of each step since this reader started, and how many are on their way, which the
 * processes that drive them report.
 */

const WINDOW_MS = 10_000
const MAX_RUNNING = 10_000
const TRIM_AT = 20_000
const SHOWN = 12
const STEPS = Object.freeze(['placed', 'held', 'capturing', 'captured', 'cancelling', 'confirmed', 'cancelled'])

function createFlow () {
  /** When each order that has not ended was placed, by key. @type {Map<string, number>} */
  const running = new Map()
  /** The last orders that came to each step. @type {Record<string, string[]>} */
  const recent = Object.fromEntries(STEPS.map((step) => [step, []]))
  /** Orders that were placed or ended; `tookMs`: NaN if unknown. @type {{ step: string, atMs: number, tookMs: number }[]} */
  let moves = []

  function trim () {
    const sinceMs = performance.now() - WINDOW_MS
    moves = moves.filter(({ atMs }) => atMs > sinceMs)
  }

  return {
    /** @param {import('freshet-feed/systems').RawEntry} entry */
    note ({ rule, key, fields: { type, status, ts } }) {
      if (rule !== 'step' || status === undefined) return
      if (type === 'placed' && running.size < MAX_RUNNING) running.set(key, Number(ts))
      if (type === 'placed' || isFinal(status)) {
        moves.push({ step: status, atMs: performance.now(), tookMs: Math.max(0, Number(ts) - Number(running.get(key) ?? NaN)) })
      }
      if (isFinal(status)) running.delete(key)
      const list = recent[status]
      if (list.length === SHOWN) list.shift()
      list.push(idOfKey(key))
      if (moves.length > TRIM_AT && moves[0].atMs < performance.now() - 2 * WINDOW_MS) trim()
    },

    /** Rates are those of the last ten seconds. @param {Pick<import('./handlers.js').Worker, 'driven'>[]} workers */
    figures (workers) {
      trim()
      const perSecond = (/** @type {string} */ stepName) => moves.filter(({ step }) => step === stepName).length * 1000 / WINDOW_MS
      const confirmed = moves.filter(({ step, tookMs }) => step === 'confirmed' && tookMs >= 0)
      const times = confirmed.map(({ tookMs }) => tookMs).sort((a, b) => a - b)
      const quantile = (/** @type {number} */ share) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? null
      const drivenAt = (/** @type {string} */ step) => workers.reduce((sum, { driven }) => sum + (driven[step] ?? 0), 0)
      return {
        placedPerSecond: perSecond('placed'),
        confirmedPerSecond: perSecond('confirmed'),
        cancelledPerSecond: perSecond('cancelled'),
        confirmedMsP50: quantile(0.5),
        confirmedMsP95: quantile(0.95),
        running: STEPS.reduce((sum, step) => sum + drivenAt(step), 0),
        steps: STEPS.map((step) => ({ step, orders: isFinal(step) ? null : drivenAt(step), recent: [...recent[step]].reverse() }))
      }
    }
  }
}

const { amount: AMOUNT, count: COUNT, generation: GENERATION, id: ID_TEXT, listOf, objectOf, seq: SEQ, time: TIME } = schemas
const STATUS = { type: 'string', enum: ['pending', 'confirmed', 'cancelled'] }
const STEP = { type: 'string', enum: ['placed', 'held', 'capturing', 'captured', 'confirmed', 'cancelling', 'cancelled'] }
const REASON = { type: 'string', description: 'why it was, or is being, cancelled' }
const PARKED = { type: 'string', description: 'why its owner gave up; its dead letter can be replayed' }
const ORDER = objectOf({
  id: ID_TEXT,
  customer: { type: 'string', description: 'masked' },
  status: STATUS,
  step: STEP,
  total: AMOUNT,
  lines: { type: 'array', items: objectOf({ sku: ID_TEXT, quantity: COUNT, price: AMOUNT }) },
  reason: REASON,
  parked: PARKED,
  placedAt: TIME,
  generation: GENERATION,
  seq: SEQ,
  asOf: TIME
})
const EVENT = objectOf({ seq: SEQ, type: { type: 'string' }, step: STEP, status: STATUS, reason: REASON, parked: PARKED, ts: TIME })
const TIMELINE = objectOf({
  id: ID_TEXT,
  step: STEP,
  placedAt: TIME,
  tookMs: COUNT,
  steps: { type: 'array', items: objectOf({ type: { type: 'string' }, ts: TIME, afterMs: COUNT }) }
})

const NUMBER = { type: ['number', 'null'] }
const WORKER = objectOf({
  id: { type: 'string' },
  cpuPercent: { type: 'number', description: 'of one core' },
  partitions: COUNT,
  driven: { type: 'object', additionalProperties: COUNT, description: 'orders on their way, by step' },
  breaker: { type: 'string', description: 'of the payment provider' },
  paymentUrl: { type: ['string', 'null'], description: 'of a provider on this machine' }
})
const FIGURES = objectOf({
  placedPerSecond: NUMBER,
  confirmedPerSecond: NUMBER,
  cancelledPerSecond: NUMBER,
  confirmedMsP50: NUMBER,
  confirmedMsP95: NUMBER,
  running: { ...COUNT, description: 'orders on their way, as their processes report' },
  deadLetters: COUNT,
  steps: {
    type: 'array', items: objectOf({ step: STEP, orders: { type: ['integer', 'null'] }, recent: { type: 'array', items: ID_TEXT } })
  },
  workers: { type: 'array', items: WORKER }
})
/** Most dead letters that are read for a list of parked orders. */
const MAX_LETTERS = 1000
const ORDER_CODES = ['ORDER_UNKNOWN', 'DATABASE_DOWN', 'DATABASE_TIMEOUT']

const ARCHIVED = `SELECT status, version AS seq, reason, parked, customer, total::text AS total, lines::text AS lines,
  round(extract(epoch FROM placed_at) * 1000)::text AS "placedAt" FROM order_view WHERE aggregate = $1`
const EVENTS = `SELECT version AS seq, type, data, round(extract(epoch FROM at) * 1000)::text AS ts FROM events
  WHERE aggregate = $1 ORDER BY version`

/** @type {System['queries']} */
export const QUERIES = {
  list: {
    path: '/v1/orders',
    access: 'admin',
    summary: 'Orders that are on their way, the next due first, or that their owner gave up',
    fields: {
      status: fields.query.oneOf(['running', 'parked'], { description: 'parked: its owner gave up' }),
      limit: fields.query.limit('orders')
    },
    reply: listOf(objectOf({ ...ORDER.properties, deadline: TIME })),
    none: () => ({ items: [] }),
    async run ({ query: { status, limit } }, parts) {
      const all = status === 'running' ? await parts.due({ rule: 'step', name: 'run', limit }) : await parked(parts, limit)
      const stored = all.map(parts.storedOf)
      return { items: stored.map((/** @type {Stored} */ order) => ({ ...parts.shown(order), deadline: Number(order.state.deadline) })) }
    }
  },
  one: {
    path: '/v1/orders/:id',
    summary: 'An order',
    fields: fields.query.since('a final status'),
    reply: ORDER,
    codes: ORDER_CODES,
    async run ({ params: { id }, query }, { current, since, storedOf, shown }) {
      const isEnded = (/** @type {KeyState} */ { fields: { status } }) => isFinal(status)
      return shown(storedOf(await since(orderKey(id), query, { read: () => current(id), isEnded })))
    }
  },
  events: {
    path: '/v1/orders/:id/events',
    summary: 'Its events, the oldest first',
    reply: listOf(EVENT),
    codes: ORDER_CODES,
    run: async ({ params: { id } }, { current }) => ({ items: (await current(id)).events.map(stepOf) })
  },
  timeline: {
    path: '/v1/orders/:id/timeline',
    summary: 'When each of its steps was, from the placing on',
    reply: TIMELINE,
    codes: ORDER_CODES,
    async run ({ params: { id } }, { current }) {
      const { events, fields: state } = await current(id)
      const placedAt = Number(events[0]?.ts)
      // the clock may have gone back between two steps
      const afterMs = (/** @type {string} */ ts) => Math.max(0, Number(ts) - placedAt)
      const steps = events.map((/** @type {any} */ { type, ts }) => ({ type, ts: Number(ts), afterMs: afterMs(ts) }))
      return { id, step: state.status, placedAt, tookMs: steps.at(-1)?.afterMs ?? 0, steps }
    }
  },
  byRequest: queries.byRequest({
    path: '/v1/orders/:id',
    codes: ['ORDER_UNKNOWN'],
    // the user of an order is its customer
    async replyTo (id, { userId, requestId }, { byRequest }) {
      const { code, seq, details } = await byRequest('step', orderKey(id), userId, requestId)
      return { status: code === 'created' ? 201 : 202, body: { id, status: statusOf(details.status), seq } }
    }
  }),
  figures: {
    path: '/v1/orders/figures',
    summary: 'Rates and times of the last ten seconds, the last orders at each step, and the processes that drive them',
    reply: FIGURES,
    codes: ['ORDER_UNKNOWN'],
    async run (_given, { flow, letters, workers }) {
      const [all, deadLetters] = await Promise.all([workers(), letters.count()])
      return { ...flow.figures(all), deadLetters, workers: all }
    }
  },
  product: PRODUCT
}

/** @type {StreamRoute} */
export const STREAM = {
  path: '/v1/orders/:id/live',
  subject: 'order',
  summary: 'The order, then its events: `snapshot`, `step`, `reset`; resumes after Last-Event-ID',
  reply: EVENT,
  codes: ORDER_CODES,
  keyOf: orderKey,
  snapshot: (stored, { shown }) => shown(stored),
  named: 'step',
  event: stepOf
}

/**
 * Orders whose owner gave up, which wrote a dead letter of each. A callback, or the deadline, may have carried on one of them.
 * @param {ReaderParts} parts
 * @param {number} limit @returns {Promise<KeyState[]>}
 */
async function parked ({ letters, find }, limit) {
  const { items } = await letters.list({ after: null, limit: MAX_LETTERS })
  const keys = [...new Set(items.filter((/** @type {any} */ { consumer }) => consumer === SAGA).map((/** @type {any} */ { key }) => key))]
  return (await Promise.all(keys.slice(0, limit).map(find))).flatMap((keyState) => keyState?.fields.parked ? [keyState] : [])
}

/** @param {ReaderParts} parts @returns {Reader} */
export function createOrderQueries (parts) {
  const { find, mask, now, figures, database: { rows } } = parts
  const flow = createFlow()

  /** @param {string} id @returns {Promise<KeyState>} @throws {FreshetError} ORDER_UNKNOWN, DATABASE_DOWN, and when no node can be asked */
  async function current (id) {
    const key = orderKey(id)
    const keyState = await find(key)
    if (keyState) return keyState
    const [archived] = await rows(ARCHIVED, [key])
    if (!archived) throw new FreshetError('ORDER_UNKNOWN', `there is no order ${id}; check the id`)
    const events = (await rows(EVENTS, [key])).map(({ data, ...event }) => ({ ...data, ...event }))
    return { key, isLast: true, partition: -1, generation: 'archive', fields: archived, events }
  }

  const shown = (/** @type {Stored} */ stored) => orderOf(stored, { mask, nowMs: now() })
  return { queries: { ...parts, current, flow, workers: figures, shown }, current, onEntry: flow.note }
}
