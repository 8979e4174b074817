/**
 * Queries about sales, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js); order rows
 * from the database, if there is one.
 *
 * @typedef {import('../../admission/index.js').Known} Known
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldsOf, maskWith } from '../../admission/index.js'
import { createClaimQueries } from './claims.js'
import { FreshetError } from './errors.js'
import { createPlaces } from './places.js'
import { saleOf } from './replies.js'

const WAIT_FOR_SEQ_MS = 500

/** @typedef {ReturnType<typeof createSaleQueries>} SaleQueries */

/**
 * @param {{ view: import('../../admission/index.js').KeyView, room: import('../../waiting-room/index.js').WaitingRoom,
 *   connectionOf: (partition: number, isPrimary: boolean) => import('../../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, partitionOf: (key: string) => number, partitions: number, secret: string,
 *   orderRows: (sale: string) => Promise<number | null>, now: () => number }} parts `secret`: of the system; `orderRows`: committed rows,
 *   null = unknown; `now`: ms since 1970
 */
export function createSaleQueries ({ view, room, connectionOf, keyOf, partitionOf, partitions: count, secret, orderRows, now }) {
  /** @param {string} id @returns {Promise<Known>} @throws {FreshetError} SALE_UNKNOWN, and when no node can be asked */
  async function known (id) {
    const one = await view.get(id)
    if (one) return one
    throw new FreshetError('SALE_UNKNOWN', 'there is no sale with this id')
  }

  /** @param {string} id @param {number} minSeq @returns {Promise<Known>} */
  async function knownSince (id, minSeq) {
    const one = await known(id)
    if (Number(one.fields.seq) >= minSeq) return one
    const stop = new AbortController()
    const unwatch = view.watch(id, () => { if (Number(view.peek(id)?.fields.seq ?? minSeq) >= minSeq) stop.abort() })
    await sleep(WAIT_FOR_SEQ_MS, undefined, { signal: stop.signal }).catch(() => {})
    unwatch()
    const later = await known(id)
    return Number(later.fields.seq) >= minSeq ? later : await view.fromPrimary(id) ?? later
  }

  return {
    known,
    ...createPlaces({ room, secret, known }),
    ...createClaimQueries({ connectionOf, keyOf, partitionOf, mask: maskWith(secret), known }),

    /** @param {string} id @param {number} minSeq waits until its events are known up to here @throws {FreshetError} SALE_UNKNOWN */
    async sale (id, minSeq) {
      const one = await knownSince(id, minSeq)
      const [rows, size] = await Promise.all([orderRows(id), one.fields.mode === 'queue' ? room.sizeOf(id) : {}])
      return /** @type {{ [name: string]: unknown, generation: string, seq: number }} */ (
        { ...saleOf(one, { nowMs: now(), orderRows: rows }), ...size })
    },

    /** Sales that are not closed, the next to close first. @param {number} limit */
    async open (limit) {
      const due = await Promise.all(Array.from({ length: count }, async (_, partition) => {
        const flat = await connectionOf(partition, false).send('ZRANGE', keyOf(partition)('tasks'), 0, -1, 'WITHSCORES')
        return Object.entries(fieldsOf(flat.map(String))).flatMap(([task, atMs]) => {
          const [, id, op] = task.split(' ')
          return op === 'due' ? [{ id, atMs: Number(atMs) }] : []
        })
      }))
      const ids = due.flat().sort((a, b) => a.atMs - b.atMs).slice(0, limit).map(({ id }) => id)
      const all = await Promise.all(ids.map((id) => view.get(id)))
      return { items: all.flatMap((one) => one ? [saleOf(one, { nowMs: now(), orderRows: null })] : []) }
    }
  }
}
