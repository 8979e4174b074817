/**
 * Queries about auctions, for readers: from memory, else from a replica, else from the primary.
 *
 * @import { Event, ReaderParts, Stored, StreamRoute, System } from 'freshet-feed/systems'
 */
import { FreshetError, fields, moneyText, queries, schemas } from 'freshet-feed/systems'
import { auctionOf, eventOf, replyTo, resultOf } from './replies.js'

const { amount: AMOUNT, count: COUNT, generation: GENERATION, id: ID, nullableAmount, objectOf, seq: SEQ, time: TIME } = schemas
const RULE = 'max'
const SNAPSHOT_BIDS = 20
const USER = { type: ['string', 'null'], description: 'masked' }
const BIDS = { ...COUNT, description: 'number of accepted bids' }
const RESERVE_MET = { type: ['boolean', 'null'], description: 'null: there is no reserve' }

const AUCTION = objectOf({
  id: ID,
  currentBid: nullableAmount,
  leader: USER,
  status: { type: 'string', enum: ['scheduled', 'open', 'closed'] },
  minNext: nullableAmount,
  bids: BIDS,
  seq: SEQ,
  currency: { type: 'string' },
  startPrice: nullableAmount,
  minIncrement: nullableAmount,
  buyNow: nullableAmount,
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
  amount: nullableAmount,
  previous: nullableAmount,
  ts: TIME,
  closeAt: { ...TIME, description: 'the end, if this bid moved it' }
})
const RESULT = objectOf({
  id: ID,
  sold: { type: 'boolean' },
  winner: { ...USER, description: 'masked, as `bidder` in the replies to bids' },
  winnerId: { ...ID, description: 'not masked: only for tokens with the scope admin, and if it is the `userId` of the query' },
  price: nullableAmount,
  highestBid: nullableAmount,
  reserveMet: RESERVE_MET,
  bids: BIDS,
  seq: SEQ,
  closedAt: TIME
})
const BID = objectOf({
  auctionId: ID, seq: COUNT, amount: AMOUNT, by: { type: 'string', enum: ['bid', 'proxy', 'buy'] }, ts: TIME
})

/** @type {System['queries']} */
export const QUERIES = {
  list: queries.due({
    path: '/v1/auctions',
    summary: 'Open auctions, the next to close first',
    item: AUCTION,
    what: 'auctions',
    rule: RULE,
    shown: (all, { shown }) => all.filter(({ state }) => state.status === 'open').map(shown)
  }),
  one: { path: '/v1/auctions/:id', summary: 'An auction', reply: AUCTION, shown: (stored, _kept, { shown }) => shown(stored) },
  bids: queries.history({
    path: '/v1/auctions/:id/bids',
    summary: 'Its events, the newest first',
    item: EVENT,
    codes: ['AUCTION_UNKNOWN'],
    shown: (event, { shownEvent }) => shownEvent(event)
  }),
  result: {
    path: '/v1/auctions/:id/result',
    summary: 'Its result',
    fields: {
      userId: fields.query.id('a bidder, asserted by the holder of a token with the scope write: `winnerId` tells whether it won')
    },
    reply: RESULT,
    codes: ['AUCTION_UNKNOWN', 'AUCTION_OPEN'],
    async run ({ params: { id }, query: { userId }, mayAs }, _own, _reply, { get, events, mask }) {
      const isAdmin = mayAs('admin')
      if (userId !== null && isAdmin === false && !mayAs('write')) {
        throw new FreshetError('FORBIDDEN', 'userId: this token may not assert a bidder; expected one with the scope write, or no userId')
      }
      const [stored, [last]] = [await get(id), await events(id, { limit: 1 })]
      return resultOf(stored, last, mask, (winner) => Boolean(isAdmin) || winner === userId)
    }
  },
  byRequest: queries.byRequest({
    path: '/v1/auctions/:id',
    codes: ['AUCTION_UNKNOWN'],
    replyTo: async (id, { userId, requestId }, _own, { byRequest, mask }) =>
      replyTo(await byRequest(RULE, id, userId, requestId), userId === '' ? { id } : { bidder: mask(userId) })
  }),
  ofUser: queries.ofUser({
    path: '/v1/users/:id/bids',
    what: 'Bids',
    item: BID,
    sql: 'SELECT id, auction, seq, amount, kind, at FROM bids WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3',
    shown: ({ auction, seq, amount, kind, at }) =>
      ({ auctionId: auction, seq: Number(seq), amount: moneyText(amount), by: kind, ts: at.getTime() })
  })
}

/** @type {StreamRoute} */
export const STREAM = {
  path: '/v1/auctions/:id/live',
  subject: 'auction',
  summary: 'The auction, then its events: `snapshot`, `bid`, `close`, `reset`; resumes after Last-Event-ID',
  reply: EVENT,
  codes: ['AUCTION_UNKNOWN'],
  snapshot: (stored, { shown, shownEvent }, newest) =>
    ({ auction: shown(stored), bids: newest(SNAPSHOT_BIDS).map(shownEvent) }),
  named: ({ type }) => type === 'close' ? 'close' : 'bid',
  event: (event, { shownEvent }) => shownEvent(event)
}

/** What queries run on. @param {ReaderParts} parts */
export function createAuctionQueries ({ mask, now }) {
  const shown = (/** @type {Stored} */ stored) => auctionOf(stored, { mask, nowMs: now() })
  const shownEvent = (/** @type {Event} */ event) => eventOf(event, mask)
  return { queries: { shown, shownEvent } }
}
