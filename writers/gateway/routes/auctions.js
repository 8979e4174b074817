/** Commands of auctions: create, bid, close, buy now. */
import {
  bodySchema, commandRoute, currencyField, idField, ID_TEXT, millisField, moneyField, optional, readCommand, readRequestId, takeBodies,
  timeField
} from '../../../src/http/index.js'
import { COMMAND_CODES, idOf, JSON_TYPE, MAX_BODY_BYTES, send } from './command.js'

const DAY_MS = 86_400_000
const WRITE = /** @type {any} */ ({ access: 'write', system: 'auctions' })
const ADMIN = /** @type {any} */ ({ access: 'admin', system: 'auctions' })

const TERMS = {
  startPrice: moneyField('least amount of the first bid'),
  minIncrement: moneyField('least rise of a bid over the price'),
  openAt: optional(timeField('first time of bids; without it, now')),
  closeAt: timeField('end, on the clock of the server'),
  softCloseMs: optional(millisField(DAY_MS)('a bid within this time before the end moves the end to this time after the bid; default: 0')),
  softCloseMaxMs: optional(millisField(30 * DAY_MS)('how far the end may move in all; default: 10 times softCloseMs')),
  reserve: optional(moneyField('least price at which it is sold')),
  buyNow: optional(moneyField('price at which it is sold at once')),
  currency: currencyField('ISO 4217 code')
}
const BID = {
  userId: idField('the bidder, asserted by the holder of the token'),
  amount: moneyField('of the bid'),
  max: optional(moneyField('up to it, later bids of others are answered by higher bids in the name of this user'))
}
const BUYER = { userId: idField('the buyer, asserted by the holder of the token') }

const PRICE = { type: ['string', 'null'], description: 'decimal; null: no bid yet' }
const TIME = { type: 'integer', description: 'milliseconds since 1970' }
const SEQ = { type: 'integer', description: 'number of the last event of the auction' }
const BIDDER = { type: 'string', description: 'the masked id of the user, as readers show it' }
/** @param {string[]} codes @param {Record<string, object>} properties */
const reply = (codes, properties) =>
  ({
    type: 'object',
    required: ['code'],
    properties: { code: { type: 'string', enum: codes }, currentBid: PRICE, closeAt: TIME, ...properties }
  })
const CREATED = reply(['created', 'unchanged'], { minNext: PRICE, seq: SEQ })
const ACCEPTED = reply(['accepted'], { leading: { type: 'boolean' }, minNext: PRICE, seq: SEQ, bidder: BIDDER })
const NOT_ACCEPTED = reply(['too_low', 'self_outbid', 'max_raised'], { minNext: PRICE, decidedAtSeq: SEQ })
const ENDED = reply(['closed', 'bought'], { seq: SEQ, bidder: BIDDER })
const PARAMS = { id: ID_TEXT }

/** @param {string} summary @param {object} body @param {Record<number, object>} content @param {string[]} codes */
const route = (summary, body, content, codes) =>
  commandRoute({ summary, tag: 'auctions', params: PARAMS, body, content, codes: [...COMMAND_CODES, ...codes] })

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ auctions: import('../../../src/systems/auctions/index.js').Auctions,
 *   room: import('../../../src/http/index.js').BodyRoom }} parts
 */
export async function auctionRoutes (app, { auctions, room }) {
  takeBodies(app, { types: [JSON_TYPE], maxBytes: MAX_BODY_BYTES, room })

  app.put('/v1/auctions/:id', {
    config: ADMIN,
    schema: route('Create an auction, or change one without bids', bodySchema(TERMS), { 200: CREATED, 201: CREATED }, ['AUCTION_HAS_BIDS'])
  }, (request, response) => send(response, () =>
    auctions.create(idOf(request), /** @type {any} */ (readCommand(request, TERMS)), readRequestId(request))))

  app.post('/v1/auctions/:id/bids', {
    config: WRITE,
    schema: route('Bid: accepted or refused at once, in one order', bodySchema(BID), { 200: NOT_ACCEPTED, 201: ACCEPTED },
      ['AUCTION_UNKNOWN', 'AUCTION_CLOSED', 'AUCTION_NOT_OPEN'])
  }, (request, response) => send(response, () =>
    auctions.bid(idOf(request), /** @type {any} */ (readCommand(request, BID)), readRequestId(request))))

  app.post('/v1/auctions/:id/buy-now', {
    config: WRITE,
    schema: route('Buy at the buy-now price, which ends the auction', bodySchema(BUYER), { 200: ENDED },
      ['AUCTION_UNKNOWN', 'AUCTION_CLOSED', 'AUCTION_NOT_OPEN', 'AUCTION_NO_BUY_NOW'])
  }, (request, response) => send(response, () =>
    auctions.buy(idOf(request), /** @type {any} */ (readCommand(request, BUYER)), readRequestId(request))))

  app.post('/v1/auctions/:id/close', {
    config: ADMIN,
    schema: route('Close before closeAt', bodySchema({}), { 200: ENDED }, ['AUCTION_UNKNOWN', 'AUCTION_CLOSED'])
  }, (request, response) => send(response, () => {
    if (request.body !== undefined) readCommand(request, {})
    return auctions.close(idOf(request), readRequestId(request))
  }))
}
