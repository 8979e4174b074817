/** Commands of auctions, from checked fields to replies. */
import { fields, schemas } from 'freshet-feed/systems'
import { replyTo } from './replies.js'

const { id: idField, invalid, millis, money, optional, own, time } = fields
const { id: ID, nullableAmount, objectOf, seq: SEQ, time: TIME } = schemas
const RULE = 'max'
/** Without softCloseMaxMs the end may move by this many softCloseMs. */
const SOFT_CLOSES = 10
const DAY_MS = 86_400_000

const TERMS = {
  startPrice: money('least amount of the first bid'),
  minIncrement: money('least rise of a bid over the price'),
  openAt: optional(time('first time of bids; without it, now')),
  closeAt: time('end, on the clock of the server'),
  softCloseMs: optional(millis(DAY_MS)('a bid within this time before the end moves the end to this time after the bid; default: 0')),
  softCloseMaxMs: optional(millis(30 * DAY_MS)('how far the end may move in all; default: 10 times softCloseMs')),
  reserve: optional(money('least price at which it is sold')),
  buyNow: optional(money('price at which it is sold at once')),
  currency: own(null, 'letters such as EUR', { type: 'string', pattern: '^[A-Z]{3}$' })('ISO 4217 code')
}
const BID = {
  userId: idField('the bidder, asserted by the holder of the token'),
  amount: money('of the bid'),
  max: optional(money('up to it, later bids of others are answered by higher bids in the name of this user'))
}
const BUYER = { userId: idField('the buyer, asserted by the holder of the token') }

const PRICE = { ...nullableAmount, description: 'decimal; null: no bid yet' }
const BIDDER = { type: 'string', description: 'the masked id of the user, as readers show it' }
/** @param {string[]} codes @param {Record<string, object>} properties */
const reply = (codes, properties) => ({
  ...objectOf({ code: { type: 'string', enum: codes }, currentBid: PRICE, closeAt: TIME, ...properties }), required: ['code']
})
const CREATED = reply(['created', 'unchanged'], { id: ID, minNext: PRICE, seq: SEQ })
const BOUGHT = reply(['bought'], { seq: SEQ, bidder: BIDDER })
const CLOSED = reply(['closed'], { id: ID, seq: SEQ })

/** @type {import('freshet-feed/systems').System['commands']} */
export const COMMANDS = {
  create: {
    method: 'PUT',
    path: '/v1/auctions/:id',
    access: 'admin',
    summary: 'Create an auction, or change one without bids',
    body: TERMS,
    schemas: { 200: CREATED, 201: CREATED },
    codes: ['AUCTION_HAS_BIDS'],
    run (request, _own, parts) {
      const { startPrice, minIncrement, openAt, closeAt, softCloseMs, softCloseMaxMs, reserve, buyNow, currency } = request.body
      const soft = softCloseMs ?? 0
      const numbers = [startPrice, minIncrement, openAt ?? 0, closeAt, soft, softCloseMaxMs ?? SOFT_CLOSES * soft]
      return decide(request, parts, '', ['create', ...numbers.map(String), String(reserve ?? ''), String(buyNow ?? ''), currency])
    }
  },
  bid: {
    path: '/v1/auctions/:id/bids',
    summary: 'Bid: accepted or refused at once, in one order',
    body: BID,
    schemas: {
      200: reply(['too_low', 'self_outbid', 'max_raised'], { minNext: PRICE, decidedAtSeq: SEQ }),
      201: reply(['accepted'], { leading: { type: 'boolean' }, minNext: PRICE, seq: SEQ, bidder: BIDDER })
    },
    codes: ['AUCTION_UNKNOWN', 'AUCTION_CLOSED', 'AUCTION_NOT_OPEN'],
    run (request, _own, parts) {
      const { userId, amount, max } = request.body
      if (max !== null && max < amount) {
        throw invalid([{ field: 'max', received: 'less than amount', expected: 'the amount or more, or none' }])
      }
      return decide(request, parts, userId, ['bid', userId, String(amount), String(max ?? '')])
    }
  },
  buy: {
    path: '/v1/auctions/:id/buy-now',
    summary: 'Buy at the buy-now price, which ends the auction',
    body: BUYER,
    schemas: { 200: BOUGHT },
    codes: ['AUCTION_UNKNOWN', 'AUCTION_CLOSED', 'AUCTION_NOT_OPEN', 'AUCTION_NO_BUY_NOW'],
    run: (request, _own, parts) => decide(request, parts, request.body.userId, ['buy', request.body.userId])
  },
  close: {
    path: '/v1/auctions/:id/close',
    access: 'admin',
    summary: 'Close before closeAt',
    schemas: { 200: CLOSED },
    codes: ['AUCTION_UNKNOWN', 'AUCTION_CLOSED'],
    run: (request, _own, parts) => decide(request, parts, '', ['close'])
  }
}

/**
 * @param {import('freshet-feed/systems').Given} request @param {import('freshet-feed/systems').GatewayParts} parts
 * @param {string} userId or empty @param {string[]} args
 * @returns {Promise<import('freshet-feed/systems').Reply>} @throws as replyTo
 */
async function decide ({ params: { id }, requestId }, { submit, mask }, userId, args) {
  const decision = await submit({ rule: RULE, key: id, scope: userId, requestId, args })
  return { ...replyTo(decision, userId === '' ? { id } : { bidder: await mask(userId) }), isReplay: decision.isReplay }
}
