/**
 * Queries about sales, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js); order rows
 * from the database, if there is one.
 *
 * @import { Reader, ReaderParts, Stored, StreamRoute, System } from 'freshet-feed/systems'
 */
import { queries, schemas } from 'freshet-feed/systems'
import { CLAIM_QUERIES, membersOf } from './claims.js'
import { saleReply } from './commands.js'
import { QUEUE_QUERY, QUEUE_STREAM } from './queue.js'
import { claimReply, expectAccepted, queueReply, saleOf } from './replies.js'

const { count: COUNT, generation: GENERATION, id: ID, objectOf, seq: SEQ, time: TIME } = schemas
const RULE = 'bounded'
/** Shortest time between two events of a sale. */
const PAUSE_MS = 100
const LOOK_EVERY_MS = 1000
const COUNT_EVERY_MS = 250
const COUNT_ROWS = "SELECT count(*) AS rows FROM orders WHERE sale = $1 AND status = 'sold'"
const UNITS = { ...COUNT, description: 'units' }
const SALE = objectOf({
  id: ID,
  status: { type: 'string', enum: ['scheduled', 'open', 'paused', 'sold_out', 'restoring', 'closed'] },
  mode: { type: 'string', enum: ['direct', 'queue', 'token'] },
  stock: UNITS,
  available: UNITS,
  held: UNITS,
  sold: UNITS,
  orderRows: { type: ['integer', 'null'], description: 'orders in the database; null: unknown' },
  perUser: UNITS,
  openAt: TIME,
  closeAt: TIME,
  holdMs: COUNT,
  admitConcurrency: COUNT,
  queued: { ...COUNT, description: 'people who have joined the queue' },
  waiting: { ...COUNT, description: 'people who are in the queue; only in mode queue' },
  generation: GENERATION,
  seq: SEQ,
  asOf: TIME
})
const CLAIM_OF_USER = objectOf({
  saleId: ID, claimId: ID, seq: COUNT, quantity: COUNT, status: { type: 'string', enum: ['sold', 'revoked'] }, ts: TIME
})

/** @type {System['queries']} */
export const QUERIES = {
  list: queries.due({
    path: '/v1/sales',
    summary: 'Sales that are not closed, the next to close first',
    item: SALE,
    what: 'sales',
    rule: RULE,
    shown: (all, { now, sizeOf }) => Promise.all(all.map(async (stored) =>
      ({ ...saleOf(stored, { nowMs: now(), orderRows: null }), ...await sizeOf(stored) })))
  }),
  one: { path: '/v1/sales/:id', summary: 'A sale', reply: SALE, shown: (stored, _kept, { shown }) => shown(stored) },
  ...CLAIM_QUERIES,
  byRequest: queries.byRequest({
    path: '/v1/sales/:id',
    codes: ['SALE_UNKNOWN'],
    async replyTo (id, { userId, requestId }, parts) {
      const decision = expectAccepted(await parts.byRequest(RULE, id, userId, requestId))
      const { code, details: { position, status, claim } } = decision
      if (position !== undefined || status === 'admitted') return { status: 200, body: queueReply(decision) }
      if (claim === undefined) return { status: code === 'created' ? 201 : 200, body: saleReply(id, decision) }
      const [member] = await membersOf(parts, id, [claim], true)
      return { status: 201, body: { ...claimReply(decision, claim), ...(member && { status: member.status }) } }
    }
  }),
  place: QUEUE_QUERY,
  ofUser: queries.ofUser({
    path: '/v1/users/:id/claims',
    what: 'Sold and revoked claims',
    item: CLAIM_OF_USER,
    sql: `SELECT id, sale, claim, seq, quantity, status, created_at AS at FROM orders
      WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
    shown: ({ sale, claim, seq, quantity, status, at }) =>
      ({ saleId: sale, claimId: claim, seq: Number(seq), quantity: Number(quantity), status, ts: at.getTime() })
  })
}

/** @type {readonly StreamRoute[]} */
export const STREAMS = [
  {
    path: '/v1/sales/:id/live',
    subject: 'sale',
    summary: 'The numbers of the sale whenever they change: `sale`',
    reply: SALE,
    codes: ['SALE_UNKNOWN'],
    async source ({ params: { id } }, { get, hub }) {
      await get(id)
      return hub.sourceOf(id, '')
    }
  },
  QUEUE_STREAM
]

/** @param {ReaderParts} parts @returns {Reader} */
export function createSaleQueries (parts) {
  const { database, now, viewers } = parts
  const room = parts.waitingRoom()
  /** Committed order rows by sale, counted by one statement at a time. @type {Map<string, Promise<number | null>>} */
  const counts = new Map()

  /** @param {string} sale @returns {Promise<number | null>} null: unknown */
  function orderRows (sale) {
    const counted = counts.get(sale)
    if (counted) return counted
    const counting = database.rows(COUNT_ROWS, [sale]).then(([row]) => row ? Number(row.rows) : null, () => null)
    counts.set(sale, counting)
    counting.then(() => setTimeout(() => counts.delete(sale), COUNT_EVERY_MS).unref())
    return counting
  }

  /** @param {Stored} stored of its queue; joining has no event, so the state in memory does not know */
  const sizeOf = async ({ key, state }) => state.mode === 'queue' ? room.sizeOf(key) : {}

  /** @param {Stored} stored @returns {Promise<Record<string, unknown>>} */
  async function shown (stored) {
    const [rows, size] = await Promise.all([orderRows(stored.key), sizeOf(stored)])
    return { ...saleOf(stored, { nowMs: now(), orderRows: rows }), ...size }
  }

  const hub = viewers({
    pauseMs: PAUSE_MS,
    lookEveryMs: LOOK_EVERY_MS,
    async shown (/** @type {Stored} */ stored) {
      const { asOf, ...state } = await shown(stored)
      const text = JSON.stringify({ ...state, asOf })
      const bytes = Buffer.from(`event: sale\ndata: ${text}\nid: ${state.generation}:${state.seq}\n\n`)
      return { state: JSON.stringify(state), bytes }
    },
    // each event is the newest state, so a viewer that reads slowly skips states, never the last one
    sendTo (/** @type {{ state: string, bytes: Buffer }} */ { state, bytes }, /** @type {any} */ stream, /** @type {string} */ last,
      /** @type {(stream: any, bytes: Buffer) => void} */ send) {
      if (last !== state) send(stream, bytes)
      return state
    }
  })

  return {
    queries: { ...parts, room, hub, shown, sizeOf },
    onEntry: ({ key }) => room.note(key),
    close () {
      hub.close()
      room.close()
    }
  }
}
