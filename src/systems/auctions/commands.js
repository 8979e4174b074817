/** Commands of auctions, from checked fields to replies. */
import { maskWith } from '../../admission/index.js'
import { field, ID_TEXT, idField, invalidFields, millisField, optional, timeField } from '../../fields/index.js'
import { moneyField } from '../money.js'
import { NULLABLE_AMOUNT, objectOf, SEQ, TIME } from '../schemas.js'
import { replyTo } from './replies.js'

const RULE = 'max'
/** Without softCloseMaxMs the end may move by this many softCloseMs. */
const SOFT_CLOSES = 10
const DAY_MS = 86_400_000
const CURRENCY = /^[A-Z]{3}$/

const TERMS = {
  startPrice: moneyField('least amount of the first bid'),
  minIncrement: moneyField('least rise of a bid over the price'),
  openAt: optional(timeField('first time of bids; without it, now')),
  closeAt: timeField('end, on the clock of the server'),
  softCloseMs: optional(millisField(DAY_MS)('a bid within this time before the end moves the end to this time after the bid; default: 0')),
  softCloseMaxMs: optional(millisField(30 * DAY_MS)('how far the end may move in all; default: 10 times softCloseMs')),
  reserve: optional(moneyField('least price at which it is sold')),
  buyNow: optional(moneyField('price at which it is sold at once')),
  currency: field((value) => typeof value === 'string' && CURRENCY.test(value) ? value : null, 'letters such as EUR',
    { type: 'string', pattern: CURRENCY.source })('ISO 4217 code')
}
const BID = {
  userId: idField('the bidder, asserted by the holder of the token'),
  amount: moneyField('of the bid'),
  max: optional(moneyField('up to it, later bids of others are answered by higher bids in the name of this user'))
}
const BUYER = { userId: idField('the buyer, asserted by the holder of the token') }

const PRICE = { ...NULLABLE_AMOUNT, description: 'decimal; null: no bid yet' }
const BIDDER = { type: 'string', description: 'the masked id of the user, as readers show it' }
/** @param {string[]} codes @param {Record<string, object>} properties */
const reply = (codes, properties) => ({
  ...objectOf({ code: { type: 'string', enum: codes }, currentBid: PRICE, closeAt: TIME, ...properties }), required: ['code']
})
const CREATED = reply(['created', 'unchanged'], { id: ID_TEXT, minNext: PRICE, seq: SEQ })
const BOUGHT = reply(['bought'], { seq: SEQ, bidder: BIDDER })
const CLOSED = reply(['closed'], { id: ID_TEXT, seq: SEQ })

/** @type {import('../definition.js').System['commands']} */
export const COMMANDS = {
  create: {
    method: 'PUT',
    path: '/v1/auctions/:id',
    access: 'admin',
    summary: 'Create an auction, or change one without bids',
    body: TERMS,
    replies: { 200: CREATED, 201: CREATED },
    codes: ['AUCTION_HAS_BIDS'],
    run ({ params: { id }, body, requestId }, { run }) {
      const { startPrice, minIncrement, openAt, closeAt, softCloseMs, softCloseMaxMs, reserve, buyNow, currency } = body
      const soft = softCloseMs ?? 0
      const numbers = [startPrice, minIncrement, openAt ?? 0, closeAt, soft, softCloseMaxMs ?? SOFT_CLOSES * soft]
      return run(id, '', requestId, ['create', ...numbers.map(String), String(reserve ?? ''), String(buyNow ?? ''), currency])
    }
  },
  bid: {
    path: '/v1/auctions/:id/bids',
    summary: 'Bid: accepted or refused at once, in one order',
    body: BID,
    replies: {
      200: reply(['too_low', 'self_outbid', 'max_raised'], { minNext: PRICE, decidedAtSeq: SEQ }),
      201: reply(['accepted'], { leading: { type: 'boolean' }, minNext: PRICE, seq: SEQ, bidder: BIDDER })
    },
    codes: ['AUCTION_UNKNOWN', 'AUCTION_CLOSED', 'AUCTION_NOT_OPEN'],
    run ({ params: { id }, body: { userId, amount, max }, requestId }, { run }) {
      if (max !== null && max < amount) {
        throw invalidFields([{ field: 'max', received: 'less than amount', expected: 'the amount or more, or none' }])
      }
      return run(id, userId, requestId, ['bid', userId, String(amount), String(max ?? '')])
    }
  },
  buy: {
    path: '/v1/auctions/:id/buy-now',
    summary: 'Buy at the buy-now price, which ends the auction',
    body: BUYER,
    replies: { 200: BOUGHT },
    codes: ['AUCTION_UNKNOWN', 'AUCTION_CLOSED', 'AUCTION_NOT_OPEN', 'AUCTION_NO_BUY_NOW'],
    run: ({ params: { id }, body: { userId }, requestId }, { run }) => run(id, userId, requestId, ['buy', userId])
  },
  close: {
    path: '/v1/auctions/:id/close',
    access: 'admin',
    summary: 'Close before closeAt',
    replies: { 200: CLOSED },
    codes: ['AUCTION_UNKNOWN', 'AUCTION_CLOSED'],
    run: ({ params: { id }, requestId }, { run }) => run(id, '', requestId, ['close'])
  }
}

/**
 * What commands run on.
 * @param {{ submit: (command: import('../../admission/index.js').Command) => Promise<import('../../admission/index.js').Decision>,
 *   agreed: () => Promise<{ secret: string }> }} admission
 */
export function createAuctions ({ submit, agreed }) {
  /** @type {import('../../admission/index.js').Mask | null} */
  let mask = null

  return {
    /**
     * @param {string} key @param {string} userId or empty @param {string} requestId @param {string[]} args
     * @returns {Promise<import('../../http/index.js').Reply>} @throws as replyTo
     */
    async run (key, userId, requestId, args) {
      const decision = await submit({ rule: RULE, key, scope: userId, requestId, args })
      mask ??= maskWith((await agreed()).secret)
      return { ...replyTo(decision, userId === '' ? { id: key } : { bidder: mask(userId) }), isReplay: decision.isReplay }
    }
  }
}
