/** Queries about auctions, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js). */
import { FreshetError } from '../../errors.js'
import { ID_TEXT } from '../../http/index.js'
import { moneyText } from '../money.js'
import {
  AMOUNT, COUNT, GENERATION, idQuery, limitField, listOf, NULLABLE_AMOUNT, objectOf, pageFields, pageOf, queryOfUser, SEQ, sinceFields,
  TIME, USER_FIELDS
} from '../schemas.js'
import { auctionOf, eventOf, replyTo, resultOf } from './replies.js'

const RULE = 'max'
const WAIT_MS = 500
const MAX_LISTED = 100
const LISTED = 20
const SNAPSHOT_BIDS = 20
const USER = { type: ['string', 'null'], description: 'masked' }
const BIDS = { ...COUNT, description: 'number of accepted bids' }
const RESERVE_MET = { type: ['boolean', 'null'], description: 'null: there is no reserve' }

const AUCTION = objectOf({
  id: ID_TEXT,
  currentBid: NULLABLE_AMOUNT,
  leader: USER,
  status: { type: 'string', enum: ['scheduled', 'open', 'closed'] },
  minNext: NULLABLE_AMOUNT,
  bids: BIDS,
  seq: SEQ,
  currency: { type: 'string' },
  startPrice: NULLABLE_AMOUNT,
  minIncrement: NULLABLE_AMOUNT,
  buyNow: NULLABLE_AMOUNT,
  reserveMet: RESERVE_MET,
  openAt: TIME,
  closeAt: TIME,
  generation: GENERATION,
  asOf: TIME
})
const KIND = { type: 'string', enum: ['bid', 'proxy', 'buy', 'close'], description: 'proxy: in the name of the leader, up to the maximum' }
const EVENT = objectOf({
  seq: COUNT,
  by: KIND,
  userId: USER,
  amount: NULLABLE_AMOUNT,
  previous: NULLABLE_AMOUNT,
  ts: TIME,
  closeAt: { ...TIME, description: 'the end, if this bid moved it' }
})
const RESULT = objectOf({
  id: ID_TEXT,
  sold: { type: 'boolean' },
  winner: { ...USER, description: 'masked, as `bidder` in the replies to bids' },
  winnerId: { ...ID_TEXT, description: 'not masked: only for tokens with the scope admin, and if it is the `userId` of the query' },
  price: NULLABLE_AMOUNT,
  highestBid: NULLABLE_AMOUNT,
  reserveMet: RESERVE_MET,
  bids: BIDS,
  seq: SEQ,
  closedAt: TIME
})
const ANY = { type: 'object' }
const BID = objectOf({
  auctionId: ID_TEXT, seq: COUNT, amount: AMOUNT, by: { type: 'string', enum: ['bid', 'proxy', 'buy'] }, ts: TIME
})

/** @type {import('../definition.js').System['queries']} */
export const QUERIES = {
  list: {
    path: '/v1/auctions',
    summary: 'Open auctions, the next to close first',
    fields: { limit: limitField('auctions', MAX_LISTED, LISTED) },
    reply: listOf(AUCTION),
    none: () => ({ items: [] }),
    run: ({ query: { limit } }, auctions) => auctions.open(limit)
  },
  one: {
    path: '/v1/auctions/:id',
    summary: 'An auction',
    fields: sinceFields(WAIT_MS),
    reply: AUCTION,
    codes: ['AUCTION_UNKNOWN'],
    run: ({ params: { id }, query }, auctions) => auctions.auction(id, query)
  },
  bids: {
    path: '/v1/auctions/:id/bids',
    summary: 'Its events, the newest first',
    fields: pageFields('events', 'before'),
    reply: pageOf(EVENT),
    codes: ['AUCTION_UNKNOWN'],
    run: ({ params: { id }, query }, auctions) => auctions.bids(id, query)
  },
  result: {
    path: '/v1/auctions/:id/result',
    summary: 'Its result',
    fields: { userId: idQuery('a bidder, asserted by the holder of a token with the scope write: `winnerId` tells whether it won') },
    reply: RESULT,
    codes: ['AUCTION_UNKNOWN', 'AUCTION_OPEN'],
    run ({ params: { id }, query: { userId }, mayAs }, auctions) {
      const isAdmin = mayAs('admin')
      if (userId !== null && isAdmin === false && !mayAs('write')) {
        throw new FreshetError('FORBIDDEN', 'userId: this token may not assert a bidder; expected one with the scope write, or no userId')
      }
      return auctions.result(id, (/** @type {string} */ winner) => Boolean(isAdmin) || winner === userId)
    }
  },
  byRequest: {
    path: '/v1/auctions/:id/by-request/:key',
    summary: 'The reply of an accepted command, from the primary',
    fields: USER_FIELDS,
    reply: ANY,
    replies: { 200: ANY, 201: ANY },
    codes: ['AUCTION_UNKNOWN', 'REQUEST_NOT_ACCEPTED'],
    async run ({ params: { id, key }, query: { userId } }, auctions, reply) {
      const { status, body } = await auctions.byRequest(id, userId ?? '', key)
      return reply.code(status).send(body)
    }
  },
  ofUser: queryOfUser({
    path: '/v1/users/:id/bids',
    what: 'Bids',
    item: BID,
    sql: 'SELECT id, auction, seq, amount, kind, at FROM bids WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3',
    shown: ({ auction, seq, amount, kind, at }) =>
      ({ auctionId: auction, seq: Number(seq), amount: moneyText(amount), by: kind, ts: at.getTime() })
  })
}

/** @type {import('../definition.js').StreamRow} */
export const STREAM = {
  path: '/v1/auctions/:id/live',
  summary: 'The auction, then its events: `snapshot`, `bid`, `close`, `reset`; resumes after Last-Event-ID',
  reply: EVENT,
  codes: ['AUCTION_UNKNOWN'],
  snapshot: (known, { shown, shownEvent }) =>
    ({ auction: shown(known), bids: known.events.slice(-SNAPSHOT_BIDS).reverse().map(shownEvent) }),
  event: (event, { shownEvent }) => ({ name: event.type === 'close' ? 'close' : 'bid', data: shownEvent(event) })
}

/**
 * @param {{ reading: import('../reading.js').Reading, mask: import('../../admission/index.js').Mask, now: () => number }} parts `now`: ms
 *   since 1970
 */
export function createAuctionQueries ({ reading, mask, now }) {
  const { known } = reading
  /** @param {import('../../admission/index.js').Known} one */
  const shown = (one) => auctionOf(one, { mask, nowMs: now() })
  /** @param {import('../../admission/index.js').Fields} event */
  const shownEvent = (event) => eventOf(event, mask)

  return {
    shown,
    shownEvent,

    /** Open auctions, the next to close first. @param {number} limit */
    async open (limit) {
      const all = await reading.due({ rule: RULE, name: 'due', limit })
      return { items: all.filter(({ fields }) => fields.status === 'open').map(shown) }
    },

    /** @param {string} id @param {import('../reading.js').Since} since @throws {Error} AUCTION_UNKNOWN */
    auction: async (id, since) => shown(await reading.since(id, since)),

    /**
     * @param {string} id @param {(winner: string) => boolean} isNamed whether the client may see its user id
     * @throws {Error} AUCTION_UNKNOWN, AUCTION_OPEN
     */
    result: async (id, isNamed) => resultOf(await known(id), mask, isNamed),

    /**
     * Its events, the newest first.
     * @param {string} id @param {{ after: number | null, limit: number }} page `after`: only older ones than this sequence number
     * @throws {Error} AUCTION_UNKNOWN
     */
    async bids (id, { after, limit }) {
      const one = await known(id)
      const below = after ?? Number(one.fields.seq) + 1
      const tail = one.events.filter(({ seq }) => Number(seq) < below)
      // the tail reaches back far enough, or to the first event
      const isWhole = tail.length >= limit || Number(one.events[0]?.seq ?? 1) <= 1
      const stored = () => below < 2 ? [] : reading.events(id, 'XREVRANGE', `${below - 1}-0`, '-', 'COUNT', limit)
      const events = isWhole ? tail.slice(-limit).reverse() : await stored()
      const oldest = Number(events.at(-1)?.seq ?? 1)
      return { items: events.map(shownEvent), next: oldest > 1 ? String(oldest) : null }
    },

    /** @param {string} id @param {string} userId or empty @param {string} requestId @throws {Error} REQUEST_NOT_ACCEPTED */
    byRequest: async (id, userId, requestId) =>
      replyTo(await reading.byRequest(RULE, id, userId, requestId), userId === '' ? {} : { bidder: mask(userId) })
  }
}
