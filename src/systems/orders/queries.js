/**
 * Queries about orders, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js); orders that have
 * left the servers come from SQL.
 *
 * @typedef {import('../../admission/index.js').Known} Known
 * @typedef {import('../../admission/index.js').Fields} Fields
 */
import { GONE } from '../events.js'
import { moneyText } from '../money.js'
import { FreshetError } from './errors.js'
import { createFlow } from './flow.js'
import { idOfKey, orderKey, productKey } from './keys.js'
import { readWorkers } from './workers.js'
import { isFinal, orderOf, productOf, statusOf, stepOf } from './replies.js'
import { stuckKeys } from './sagas.js'

const ARCHIVED = `SELECT status, version AS seq, reason, parked, total::text AS total, lines::text AS lines FROM order_view
  WHERE aggregate = $1`
const EVENTS = `SELECT version AS seq, type, data, extract(epoch FROM at) * 1000 AS ts FROM events
  WHERE aggregate = $1 ORDER BY version`

/** @param {import('../definition.js').ReaderParts} parts @returns {import('../definition.js').Reader} */
export function createOrderQueries ({ reading, view, partitions, connectionOf, keyOf, database: { rows } }) {
  const flow = createFlow()

  /** @param {string} id @returns {Promise<Known>} @throws {FreshetError} ORDER_UNKNOWN, DATABASE_DOWN, and when no node can be asked */
  async function known (id) {
    const key = orderKey(id)
    const one = await view.get(key)
    if (one) return one
    const [archived] = await rows(ARCHIVED, [key])
    if (!archived) throw new FreshetError('ORDER_UNKNOWN', 'there is no order with this id')
    const events = (await rows(EVENTS, [key])).map(({ data, ts, ...event }) => ({ ...data, ...event, ts: String(Math.round(ts)) }))
    return { key, partition: GONE, generation: 'archive', fields: archived, events }
  }

  const queries = {
    /**
     * Waits for a number of its events, or without one for a final status.
     * @param {string} id @param {import('../reading.js').Since} since
     * @returns {Promise<Record<string, unknown>>} @throws {FreshetError} as known
     */
    async order (id, { minSeq, waitMs }) {
      const isDue = (/** @type {Known} */ { fields: { seq, status } }) =>
        isFinal(status) || (minSeq !== null && Number(seq) >= minSeq)
      return orderOf(await reading.until(orderKey(id), () => known(id), isDue, waitMs))
    },

    /** The oldest first. @param {string} id @throws {FreshetError} as known */
    async events (id) {
      return { items: (await known(id)).events.map(stepOf) }
    },

    /**
     * @param {string} id @param {string} userId the customer who placed it, or empty @param {string} requestId
     * @throws {FreshetError} REQUEST_NOT_ACCEPTED
     */
    async byRequest (id, userId, requestId) {
      const { code, details } = await reading.byRequest('step', orderKey(id), userId, requestId)
      return { status: code === 'created' ? 201 : 202, body: { orderId: id, status: statusOf(details.status) } }
    },

    /** When each step was, from the placing on. @param {string} id @throws {FreshetError} as known */
    async timeline (id) {
      const { key, events, fields } = await known(id)
      const first = Number(events[0]?.ts)
      const steps = events.map(({ type, ts }) => ({ type, at: Number(ts), afterMs: Number(ts) - first }))
      return { orderId: idOfKey(key), step: fields.status, placedAt: first, tookMs: steps.at(-1)?.afterMs ?? 0, steps }
    },

    /** @param {string} sku @throws {FreshetError} PRODUCT_UNKNOWN */
    async product (sku) {
      const one = await view.get(productKey(sku))
      if (!one || one.fields.status !== 'open') throw new FreshetError('PRODUCT_UNKNOWN', 'there is no product with this SKU')
      const { name, price } = JSON.parse(one.fields.about)
      return { sku, name, price: moneyText(price), ...productOf(one.fields) }
    },

    /** What goes on, and which processes drive it. @returns {Promise<Record<string, unknown>>} */
    async figures () {
      const [workers, letters] = await Promise.all([
        readWorkers(connectionOf(0, false), keyOf(0)),
        Promise.all(Array.from({ length: partitions }, async (_, partition) =>
          Number(await connectionOf(partition, false).send('XLEN', keyOf(partition)('dead')))))
      ])
      return { ...flow.figures(), deadLetters: letters.reduce((sum, n) => sum + n, 0), replicas: workers }
    },

    /** @param {'running' | 'stuck'} status @param {number} limit */
    async sagas (status, limit) {
      const all = status === 'running'
        ? await reading.due({ rule: 'step', name: 'run', limit })
        : await Promise.all((await stuckKeys({ partitions, connectionOf, keyOf }, limit)).map(view.get))
      return {
        // a callback, or the deadline, may have carried on one that was parked
        items: all.flatMap((one) => one && (status === 'running' || one.fields.parked)
          ? [{ ...orderOf(one), placedAt: Number(one.fields.placedAt), deadline: Number(one.fields.deadline) }]
          : [])
      }
    }
  }

  return { queries, known, onEntry: flow.note }
}
