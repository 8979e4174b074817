/**
 * Queries about sales, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js); order rows
 * from the database, if there is one.
 */
import { maskWith } from '../../admission/index.js'
import { ID_TEXT } from '../../http/index.js'
import { createWaitingRoom } from '../../waiting-room/index.js'
import { createHub } from '../hub.js'
import {
  COUNT, GENERATION, limitField, listOf, objectOf, pageFields, pageOf, queryOfUser, SEQ, sinceFields, TIME, USER_FIELDS
} from '../schemas.js'
import { CLAIM, createClaimQueries } from './claims.js'
import { createOrderRows } from './order-rows.js'
import { createPlaces, PLACE, retryAfterS } from './places.js'
import { saleOf } from './replies.js'
import { readTicket } from './tickets.js'

const RULE = 'bounded'
const WAIT_MS = 500
const MAX_LISTED = 100
const LISTED = 20
/** between two events of a sale */
const PAUSE_MS = 100
const LOOK_EVERY_MS = 1000
const UNITS = { ...COUNT, description: 'units' }
const SALE = objectOf({
  id: ID_TEXT,
  status: { type: 'string', enum: ['scheduled', 'open', 'paused', 'sold_out', 'restoring', 'closed'] },
  mode: { type: 'string', enum: ['direct', 'queue', 'token'] },
  stock: UNITS,
  available: UNITS,
  held: UNITS,
  sold: UNITS,
  orderRows: { type: ['integer', 'null'], description: 'orders in the database; null: not known' },
  perUser: UNITS,
  openAt: TIME,
  closeAt: TIME,
  holdMs: COUNT,
  admitConcurrency: COUNT,
  queued: { ...COUNT, description: 'people who have joined the queue' },
  waiting: { ...COUNT, description: 'people who are in the queue; not in lists' },
  generation: GENERATION,
  seq: SEQ,
  asOf: TIME
})
const CLAIM_OF_USER = objectOf({
  saleId: ID_TEXT, claimId: ID_TEXT, seq: COUNT, quantity: COUNT, status: { type: 'string', enum: ['sold', 'revoked'] }, ts: TIME
})
const TICKET_CODES = ['SALE_UNKNOWN', 'TICKET_MISSING', 'TICKET_INVALID']

/** @type {import('../definition.js').System['queries']} */
export const QUERIES = {
  list: {
    path: '/v1/sales',
    summary: 'Sales that are not closed, the next to close first',
    fields: { limit: limitField('sales', MAX_LISTED, LISTED) },
    reply: listOf(SALE),
    none: () => ({ items: [] }),
    run: ({ query: { limit } }, sales) => sales.open(limit)
  },
  one: {
    path: '/v1/sales/:id',
    summary: 'A sale',
    fields: sinceFields(WAIT_MS),
    reply: SALE,
    codes: ['SALE_UNKNOWN'],
    run: ({ params: { id }, query }, sales) => sales.sale(id, query)
  },
  claims: {
    path: '/v1/sales/:id/claims',
    summary: 'Its claims, the oldest first',
    fields: pageFields('claims'),
    reply: pageOf(CLAIM),
    codes: ['SALE_UNKNOWN'],
    run: ({ params: { id }, query }, sales) => sales.claims(id, query)
  },
  claim: {
    path: '/v1/sales/:id/claims/:claim',
    summary: 'A claim',
    reply: CLAIM,
    codes: ['SALE_UNKNOWN', 'CLAIM_UNKNOWN'],
    run: ({ params: { id, claim } }, sales) => sales.claim(id, claim)
  },
  byRequest: {
    path: '/v1/sales/:id/by-request/:key',
    summary: 'The reply of an accepted command, from the primary',
    fields: USER_FIELDS,
    reply: { type: 'object' },
    codes: ['SALE_UNKNOWN', 'REQUEST_NOT_ACCEPTED'],
    run: async ({ params: { id, key }, query: { userId } }, sales) => (await sales.byRequest(id, userId ?? '', key)).body
  },
  place: {
    path: '/v1/sales/:id/queue/:userId',
    summary: 'Where a person is in the queue',
    fields: { waitMs: sinceFields(0, 'another status than waiting').waitMs },
    reply: PLACE,
    codes: TICKET_CODES,
    async run ({ params: { id, userId }, query: { waitMs }, headers }, sales, reply) {
      const place = await sales.place(id, userId, readTicket(headers), waitMs)
      if (place.status === 'waiting') reply.header('retry-after', retryAfterS(place))
      return sales.shownPlace(place)
    }
  },
  ofUser: queryOfUser({
    path: '/v1/users/:id/claims',
    what: 'Sold and revoked claims',
    item: CLAIM_OF_USER,
    sql: `SELECT id, sale, claim, seq, quantity, status, created_at AS at FROM orders
      WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
    shown: ({ sale, claim, seq, quantity, status, at }) =>
      ({ saleId: sale, claimId: claim, seq: Number(seq), quantity: Number(quantity), status, ts: at.getTime() })
  })
}

/** @type {readonly import('../definition.js').StreamRow[]} */
export const STREAMS = [
  {
    path: '/v1/sales/:id/live',
    summary: 'The numbers of the sale whenever they change: `sale`',
    reply: SALE,
    codes: ['SALE_UNKNOWN'],
    source: ({ params: { id } }, sales) => sales.sourceOf(id)
  },
  {
    path: '/v1/sales/:id/queue/:userId/live',
    summary: 'Where a person is in the queue, whenever that changes: `place`',
    reply: PLACE,
    codes: TICKET_CODES,
    source: ({ params: { id, userId }, headers }, sales) => sales.placeSourceOf(id, userId, readTicket(headers))
  }
]

/** @param {import('../definition.js').ReaderParts} parts @returns {import('../definition.js').Reader} */
export function createSaleQueries ({ reading, view, secret, database, now, push, log, ...place }) {
  const { known } = reading
  const room = createWaitingRoom({ ...place, log })
  const orderRows = createOrderRows(database)

  /** @param {string} id @param {import('../reading.js').Since} since @returns {Promise<any>} @throws {Error} SALE_UNKNOWN */
  async function sale (id, since) {
    const one = await reading.since(id, since)
    const [rows, size] = await Promise.all([orderRows(id), one.fields.mode === 'queue' ? room.sizeOf(id) : {}])
    return { ...saleOf(one, { nowMs: now(), orderRows: rows }), ...size }
  }

  const hub = createHub({
    view,
    push,
    log,
    pauseMs: PAUSE_MS,
    lookEveryMs: LOOK_EVERY_MS,
    async read (/** @type {string} */ id) {
      const [one, { asOf, ...shown }] = await Promise.all([known(id), sale(id, { minSeq: null, waitMs: 0 })])
      const text = JSON.stringify({ ...shown, asOf })
      return {
        known: one, state: JSON.stringify(shown), bytes: Buffer.from(`event: sale\ndata: ${text}\nid: ${shown.generation}:${shown.seq}\n\n`)
      }
    },
    // each event is the newest state, so a viewer that reads slowly skips states, never the last one
    sendTo ({ state, bytes }, stream, /** @type {string} */ last, send) {
      if (last !== state) send(stream, bytes)
      return state
    }
  })

  const queries = {
    sale,
    ...createPlaces({ room, secret, reading, push }),
    ...createClaimQueries({ reading, ...place, mask: maskWith(secret) }),

    /** Sales that are not closed, the next to close first. @param {number} limit */
    async open (limit) {
      const all = await reading.due({ rule: RULE, name: 'due', limit })
      return { items: all.map((one) => saleOf(one, { nowMs: now(), orderRows: null })) }
    },

    /** @param {string} id @throws {Error} SALE_UNKNOWN */
    async sourceOf (id) {
      await known(id)
      return hub.sourceOf(id, '')
    }
  }

  return {
    queries,
    onEntry: ({ key }) => room.note(key),
    close () {
      hub.close()
      room.close()
    }
  }
}
