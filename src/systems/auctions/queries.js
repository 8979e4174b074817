/**
 * Queries about auctions, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js).
 *
 * @import { KeyState, Fields } from '../../admission/index.js'
 */
import { maskWith } from '../../admission/index.js'
import { FreshetError } from '../../errors.js'
import { ID_TEXT } from '../../fields/index.js'
import { moneyText } from '../money.js'
import {
  AMOUNT, byRequestRow, COUNT, dueRow, GENERATION, idQuery, keyRow, NULLABLE_AMOUNT, objectOf, pageFields, pageOf, queryOfUser, SEQ, TIME
} from '../schemas.js'
import { auctionOf, eventOf, replyTo, resultOf } from './replies.js'

const RULE = 'max'
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
const BID = objectOf({
  auctionId: ID_TEXT, seq: COUNT, amount: AMOUNT, by: { type: 'string', enum: ['bid', 'proxy', 'buy'] }, ts: TIME
})

/** @type {import('../definition.js').System['queries']} */
export const QUERIES = {
  list: dueRow({
    path: '/v1/auctions',
    summary: 'Open auctions, the next to close first',
    item: AUCTION,
    what: 'auctions',
    rule: RULE,
    shown: (all, { shown }) => all.filter(({ fields }) => fields.status === 'open').map(shown)
  }),
  one: keyRow({ path: '/v1/auctions/:id', summary: 'An auction', reply: AUCTION, codes: ['AUCTION_UNKNOWN'] }),
  bids: {
    path: '/v1/auctions/:id/bids',
    summary: 'Its events, the newest first',
    fields: pageFields('events', 'before'),
    reply: pageOf(EVENT),
    codes: ['AUCTION_UNKNOWN'],
    async run ({ params: { id }, query: { after, limit } }, { reading, shownEvent }) {
      const one = await reading.current(id)
      const below = after ?? Number(one.fields.seq) + 1
      const tail = one.events.filter((/** @type {Fields} */ { seq }) => Number(seq) < below)
      // the tail reaches back far enough, or to the first event
      const isWhole = tail.length >= limit || Number(one.events[0]?.seq ?? 1) <= 1
      const stored = () => below < 2 ? [] : reading.events(id, 'XREVRANGE', `${below - 1}-0`, '-', 'COUNT', limit)
      const events = isWhole ? tail.slice(-limit).reverse() : await stored()
      const oldest = Number(events.at(-1)?.seq ?? 1)
      return { items: events.map(shownEvent), next: oldest > 1 ? String(oldest) : null }
    }
  },
  result: {
    path: '/v1/auctions/:id/result',
    summary: 'Its result',
    fields: { userId: idQuery('a bidder, asserted by the holder of a token with the scope write: `winnerId` tells whether it won') },
    reply: RESULT,
    codes: ['AUCTION_UNKNOWN', 'AUCTION_OPEN'],
    async run ({ params: { id }, query: { userId }, mayAs }, { reading, mask }) {
      const isAdmin = mayAs('admin')
      if (userId !== null && isAdmin === false && !mayAs('write')) {
        throw new FreshetError('FORBIDDEN', 'userId: this token may not assert a bidder; expected one with the scope write, or no userId')
      }
      return resultOf(await reading.current(id), mask, (winner) => Boolean(isAdmin) || winner === userId)
    }
  },
  byRequest: byRequestRow({
    path: '/v1/auctions/:id',
    codes: ['AUCTION_UNKNOWN'],
    replyTo: async (id, { userId, requestId }, { reading, mask }) =>
      replyTo(await reading.byRequest(RULE, id, userId, requestId), userId === '' ? { id } : { bidder: mask(userId) })
  }),
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
  snapshot: (current, { shown, shownEvent }) =>
    ({ auction: shown(current), bids: current.events.slice(-SNAPSHOT_BIDS).reverse().map(shownEvent) }),
  event: (event, { shownEvent }) => ({ name: event.type === 'close' ? 'close' : 'bid', data: shownEvent(event) })
}

/** What queries run on. @param {import('../definition.js').ReaderParts} parts */
export function createAuctionQueries ({ reading, secret, now }) {
  const mask = maskWith(secret)
  return {
    reading,
    mask,
    shown: (/** @type {KeyState} */ one) => auctionOf(one, { mask, nowMs: now() }),
    shownEvent: (/** @type {Fields} */ event) => eventOf(event, mask)
  }
}
