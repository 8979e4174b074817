/**
 * Queries about orders, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js); orders that have
 * left the servers come from SQL.
 *
 * @typedef {import('../../admission/index.js').Known} Known
 * @typedef {import('../../admission/index.js').Fields} Fields
 */
import { moneyText } from '../../http/index.js'
import { GONE } from '../live.js'
import { FreshetError } from './errors.js'
import { idOfKey, orderKey, productKey } from './keys.js'
import { readReplicas } from './replicas.js'
import { isFinal, orderOf, productOf, stepOf } from './replies.js'
import { running, stuck } from './sagas.js'

const ARCHIVED = `SELECT status, version AS seq, reason, parked, total::text AS total, lines::text AS lines FROM order_view
  WHERE aggregate = $1`
const EVENTS = `SELECT version AS seq, type, data, extract(epoch FROM at) * 1000 AS ts FROM events
  WHERE aggregate = $1 ORDER BY version`
const LOOK_EVERY_MS = 50

/** @typedef {ReturnType<typeof createOrderQueries>} OrderQueries */

/**
 * @param {{ view: import('../../admission/index.js').KeyView, flow: import('./flow.js').Flow, partitions: number,
 *   connectionOf: (partition: number, isPrimary: boolean) => import('../../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string,
 *   rows: (text: string, values: unknown[]) => Promise<any[]> }} parts `rows` of the database; throws DATABASE_DOWN
 */
export function createOrderQueries ({ view, flow, partitions: count, connectionOf, keyOf, rows }) {
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

  /** of long polls @type {Set<() => void>} */
  const waiting = new Set()
  let isClosed = false

  /** Calls back once, after a change of a key or after a time. @param {string} key @param {number} ms */
  const changed = (key, ms) => new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      unwatch()
      waiting.delete(done)
      resolve(null)
    }
    const timer = setTimeout(done, ms)
    const unwatch = view.watch(key, done)
    waiting.add(done)
  })

  return {
    known,

    /** Ends long polls. */
    close () {
      isClosed = true
      for (const done of waiting) done()
    },

    /**
     * @param {string} id @param {{ waitMs: number, minVersion: number | null }} since waits for this version, or without one for a final
     *   status, at most as long
     * @returns {Promise<Record<string, unknown>>} @throws {FreshetError} as known
     */
    async order (id, { waitMs, minVersion }) {
      const key = orderKey(id)
      const untilMs = performance.now() + waitMs
      for (;;) {
        const one = await known(id)
        const { seq, status } = one.fields
        const isDue = isFinal(status) || (minVersion !== null && Number(seq) >= minVersion)
        const leftMs = untilMs - performance.now()
        if (isDue || leftMs <= 0 || isClosed) return orderOf(one)
        // it may be evicted, or the outbox not followed at the moment
        await changed(key, view.peek(key) ? leftMs : Math.min(leftMs, LOOK_EVERY_MS))
      }
    },

    /** The first first. @param {string} id @throws {FreshetError} as known */
    async events (id) {
      return { items: (await known(id)).events.map(stepOf) }
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
      const [replicas, letters] = await Promise.all([
        readReplicas(connectionOf(0, false), keyOf(0)),
        Promise.all(Array.from({ length: count }, async (_, partition) =>
          Number(await connectionOf(partition, false).send('XLEN', keyOf(partition)('dead')))))
      ])
      return { ...flow.figures(), deadLetters: letters.reduce((sum, n) => sum + n, 0), replicas }
    },

    /** @param {'running' | 'stuck'} status @param {number} limit */
    async sagas (status, limit) {
      const keys = await (status === 'running' ? running : stuck)({ partitions: count, connectionOf, keyOf }, limit)
      const all = await Promise.all(keys.map((key) => view.get(key)))
      return {
        // a callback, or the deadline, may have carried on one that was parked
        items: all.flatMap((one) => one && (status === 'running' || one.fields.parked)
          ? [{ ...orderOf(one), placedAt: Number(one.fields.placedAt), deadline: Number(one.fields.deadline) }]
          : [])
      }
    }
  }
}
