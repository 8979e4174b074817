/**
 * The stores of a view, one per partition, as one: retention by number holds per partition, so each has its own store.
 * With one partition, the usual case, a query goes straight to its store.
 */
import { compareOrder, partitionOf } from '../item/index.js'

/** in standard deviations: by how much the share of a partition may exceed the mean */
const SPREAD = 4
/** items read from a partition at once: a page may end after a few hundred */
const MAX_WAITING = 512

/** @typedef {import('../item/index.js').Place} Place */
/** @typedef {ReturnType<typeof import('./store/index.js').createViewStore>} Store */
/** @typedef {{ limit: number, after: Place | null, sinceMs: number | null, nowMs: number }} Question */
/**
 * @typedef {(bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, valueAt: number,
 *   valueEnd: number) => boolean | void} Visit
 *   of an item: where its id and value are, valid until the visit returns; false = the page ends after this item */
/** @typedef {{ bytes: Buffer, idAt: number, idEnd: number, ts: number, seq: number, valueAt: number, valueEnd: number }} Shown */

/** @param {Store[]} stores by partition */
export function createPartitionedStore (stores) {
  const [only] = stores
  return {
    /** @param {Question} question @param {Visit} visit @returns {{ next: Place | null, count: number }} */
    latest: (question, visit) => stores.length === 1 ? only.latest(question, visit) : merged(stores, question, visit),

    /** @param {Buffer} id */
    storeOf: (id) => stores[partitionOf(id, stores.length)],

    /** @param {number} nowMs */
    count: (nowMs) => stores.reduce((sum, store) => sum + store.count(nowMs), 0),

    /** Text that differs after every visible change. */
    revision: () => stores.length === 1 ? String(only.revision) : stores.map(({ revision }) => revision).join('.'),

    /** @returns {{ items: number, tombstones: number, bytes: number, floor: Place | null }} `floor`: the newest place of an evicted item */
    stats () {
      const all = stores.map((store) => store.stats())
      const sum = (/** @type {'items' | 'tombstones' | 'bytes'} */ name) => all.reduce((total, one) => total + one[name], 0)
      const floors = all.flatMap(({ floor }) => floor ?? [])
      return { items: sum('items'), tombstones: sum('tombstones'), bytes: sum('bytes'), floor: floors.sort(compareOrder).at(-1) ?? null }
    }
  }
}

/** @param {Store[]} stores @param {Question} question @param {Visit} visit */
function merged (stores, { limit, after, sinceMs, nowMs }, visit) {
  const share = limit / stores.length
  const wanted = Math.min(limit, MAX_WAITING, Math.ceil(share + SPREAD * Math.sqrt(share)))
  const sources = stores.map((store) => ({ store, waiting: /** @type {Shown[]} */ ([]), at: 0, next: after, isDone: false }))

  /** @param {typeof sources[0]} source */
  function refill (source) {
    while (source.at === source.waiting.length && !source.isDone) {
      /** @type {Shown[]} */
      const waiting = []
      const {
        next
      } = source.store.latest({ limit: wanted, after: source.next, sinceMs, nowMs }, (bytes, idAt, idEnd, ts, seq, valueAt, valueEnd) => {
        waiting.push({ bytes, idAt, idEnd, ts, seq, valueAt, valueEnd })
      })
      Object.assign(source, { waiting, at: 0, next, isDone: next === null })
    }
    return source.at < source.waiting.length
  }

  let count = 0
  /** @type {Shown | null} */
  let last = null
  for (let isFull = limit <= 0; ;) {
    const heads = sources.filter(refill)
    if (heads.length === 0) return { next: null, count }
    if (isFull) return { next: last && placeOf(last), count }
    const newest = heads.reduce((a, b) => compareShown(a.waiting[a.at], b.waiting[b.at]) > 0 ? a : b)
    last = newest.waiting[newest.at++]
    count++
    isFull = visit(last.bytes, last.idAt, last.idEnd, last.ts, last.seq, last.valueAt, last.valueEnd) === false || count === limit
  }
}

/** @param {Shown} a @param {Shown} b */
const compareShown = (a, b) => a.ts - b.ts || a.seq - b.seq || a.bytes.compare(b.bytes, b.idAt, b.idEnd, a.idAt, a.idEnd)

/** @param {Shown} shown @returns {Place} */
const placeOf = ({ bytes, idAt, idEnd, ts, seq }) => ({ ts, seq, id: Buffer.from(bytes.subarray(idAt, idEnd)) })
