/** Commands of sales: create, claim, confirm, release, the waiting room, tokens, restock, pause, resume, close. */
import {
  bodySchema, choiceField, commandRoute, idField, ID_TEXT, millisField, optional, readCommand, readRequestId, readTicket, takeBodies,
  timeField, wholeField
} from '../../../src/http/index.js'
import { COMMAND_CODES, idOf, JSON_TYPE, MAX_BODY_BYTES, send } from './command.js'

const DAY_MS = 86_400_000
const MAX_UNITS = 1_000_000_000
const MAX_SLOTS = 1000
const TAG = 'sales'
const WRITE = /** @type {any} */ ({ access: 'write', system: TAG })
const ADMIN = /** @type {any} */ ({ access: 'admin', system: TAG })

const TERMS = {
  stock: wholeField(1, MAX_UNITS)('units'),
  perUser: optional(wholeField(1, MAX_UNITS)('units that one user may have; default: 1')),
  mode: choiceField('direct', 'queue', 'token')('claims are decided at once, people are admitted in order, or a hold is a token'),
  openAt: optional(timeField('first time of claims, on the clock of the server; without it, now')),
  closeAt: optional(timeField('end, on the clock of the server; without it, when it is closed')),
  holdMs: optional(millisField(DAY_MS)('how long a claim, an admission or a token is held until it is confirmed; default: 0 = sold at ' +
    'once, 60,000 in modes queue and token')),
  admitConcurrency: optional(wholeField(1, MAX_SLOTS)('people of the queue who are admitted at a time; default: 100'))
}
const USER = { userId: idField('asserted by the holder of the token') }
const OF_USER = { userId: optional(idField('of the claim; a sold claim is revoked only with it')) }
const CLAIM = { ...USER, quantity: optional(wholeField(1, MAX_UNITS)('units; default: 1')) }
const RESTOCK = { quantity: wholeField(1, MAX_UNITS)('more units') }

const TIME = { type: 'integer', description: 'milliseconds since 1970' }
const SEQ = { type: 'integer', description: 'number of the event' }
/** @param {Record<string, object>} properties */
const objectOf = (properties) => ({ type: 'object', properties })
const NUMBERS = { seq: SEQ, available: { type: 'integer' }, held: { type: 'integer' }, sold: { type: 'integer' } }
const SALE = objectOf({ id: ID_TEXT, code: { type: 'string', enum: ['created', 'unchanged', 'accepted'] }, ...NUMBERS })
const CLAIMED = objectOf({
  claimId: ID_TEXT,
  status: { type: 'string', enum: ['held', 'sold'] },
  seq: SEQ,
  remaining: { type: 'integer', description: 'units available' },
  holdUntil: { ...TIME, description: 'a hold ends unless it is confirmed' }
})
const RELEASED = objectOf({ claimId: ID_TEXT, status: { type: 'string', enum: ['released'] }, ...NUMBERS })
const PLACE = objectOf({
  status: { type: 'string', enum: ['waiting', 'admitted'] },
  position: { type: 'integer', description: 'from 1; 0: admitted' },
  etaMs: { type: 'integer', description: 'estimated time to admission' },
  until: { ...TIME, description: 'end of the admission' },
  ticket: { type: 'string', description: 'for Freshet-Ticket; only in the reply of the request that joined' }
})
const LEFT = objectOf({ status: { type: 'string', enum: ['left'] } })
const TOKEN = objectOf({ token: { type: 'string' }, expiresAt: TIME })
const SALE_CODES = ['SALE_UNKNOWN', 'SALE_CLOSED', 'SALE_RESTORING']

/**
 * @param {string} summary @param {object} body @param {Record<number, object>} content @param {string[]} codes
 * @param {Record<string, object>} [params]
 */
const route = (summary, body, content, codes, params = {}) =>
  commandRoute({ summary, tag: TAG, params: { id: ID_TEXT, ...params }, body, content, codes: [...COMMAND_CODES, ...codes] })

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ sales: import('../../../src/systems/sales/index.js').Sales, room: import('../../../src/http/index.js').BodyRoom }} parts
 */
export async function saleRoutes (app, { sales, room }) {
  takeBodies(app, { types: [JSON_TYPE], maxBytes: MAX_BODY_BYTES, room })
  /** @param {import('fastify').FastifyRequest} request @param {any} fields @returns {any} */
  const read = (request, fields) => readCommand(request, fields)

  app.put('/v1/sales/:id', {
    config: ADMIN,
    schema: route('Create a sale, or change one without claims', bodySchema(TERMS), { 200: SALE, 201: SALE },
      ['SALE_HAS_CLAIMS', 'SALE_RESTORING'])
  }, (request, response) => send(response, () => sales.create(idOf(request), read(request, TERMS), readRequestId(request))))

  app.post('/v1/sales/:id/claims', {
    config: WRITE,
    schema: route('Claim units; in modes queue and token, with a ticket or token', bodySchema(CLAIM), { 201: CLAIMED }, [
      ...SALE_CODES, 'SALE_NOT_OPEN', 'SALE_PAUSED', 'SALE_SOLD_OUT', 'SALE_ALL_HELD', 'SALE_INSUFFICIENT', 'SALE_ALREADY_CLAIMED',
      'SALE_NOT_ADMITTED', 'TICKET_MISSING', 'TICKET_INVALID', 'CLAIM_EXPIRED', 'CLAIM_REJECTED', 'CLAIM_UNSETTLED'
    ])
  }, (request, response) => send(response, () =>
    sales.claim(idOf(request), read(request, CLAIM), readTicket(request), readRequestId(request))))

  app.post('/v1/sales/:id/claims/:claim/confirm', {
    config: WRITE,
    schema: route('Confirm a hold: it is sold', bodySchema(OF_USER), { 200: CLAIMED },
      [...SALE_CODES, 'CLAIM_UNKNOWN', 'CLAIM_EXPIRED', 'CLAIM_REJECTED', 'CLAIM_UNSETTLED'], { claim: ID_TEXT })
  }, (request, response) => send(response, () =>
    sales.confirm(idOf(request), idOf(request, 'claim'), userOf(request), readRequestId(request))))

  app.delete('/v1/sales/:id/claims/:claim', {
    config: WRITE,
    schema: route('Release a hold, or revoke a sold claim', bodySchema(OF_USER), { 200: RELEASED }, [...SALE_CODES, 'CLAIM_UNKNOWN'],
      { claim: ID_TEXT })
  }, (request, response) => send(response, () =>
    sales.release(idOf(request), idOf(request, 'claim'), userOf(request), readRequestId(request))))

  app.post('/v1/sales/:id/queue', {
    config: WRITE,
    schema: route('Join the queue', bodySchema(USER), { 200: PLACE },
      [...SALE_CODES, 'SALE_SOLD_OUT', 'SALE_ALREADY_CLAIMED', 'SALE_OTHER_MODE'])
  }, (request, response) => send(response, () => sales.join(idOf(request), read(request, USER), readRequestId(request))))

  app.delete('/v1/sales/:id/queue/:userId', {
    config: WRITE,
    schema: route('Leave the queue, or give an admission back', bodySchema({}), { 200: LEFT },
      [...SALE_CODES, 'TICKET_MISSING', 'TICKET_INVALID', 'CLAIM_UNKNOWN', 'SALE_ALREADY_CLAIMED'], { userId: ID_TEXT })
  }, (request, response) => send(response, () => {
    readNothing(request)
    return sales.leave(idOf(request), idOf(request, 'userId'), readTicket(request), readRequestId(request))
  }))

  app.post('/v1/sales/:id/tokens', {
    config: WRITE,
    schema: route('Get a token: a unit is held until it expires', bodySchema(USER), { 200: TOKEN },
      [...SALE_CODES, 'SALE_NOT_OPEN', 'SALE_PAUSED', 'SALE_SOLD_OUT', 'SALE_ALL_HELD', 'SALE_ALREADY_ISSUED', 'SALE_OTHER_MODE'])
  }, (request, response) => send(response, () => sales.issue(idOf(request), read(request, USER), readRequestId(request))))

  app.post('/v1/sales/:id/restock', {
    config: ADMIN,
    schema: route('More units', bodySchema(RESTOCK), { 200: SALE }, SALE_CODES)
  }, (request, response) => send(response, () => sales.restock(idOf(request), read(request, RESTOCK), readRequestId(request))))

  for (const [op, summary] of /** @type {const} */ ([
    ['pause', 'Pause: holds can be confirmed, nothing else is sold'], ['resume', 'Resume'], ['close', 'Close before closeAt']
  ])) {
    app.post(`/v1/sales/:id/${op}`, {
      config: ADMIN,
      schema: route(summary, bodySchema({}), { 200: SALE }, SALE_CODES)
    }, (request, response) => send(response, () => {
      readNothing(request)
      return sales.turn(idOf(request), op, readRequestId(request))
    }))
  }
}

/** @param {import('fastify').FastifyRequest} request @returns {{ userId: string | null }} */
const userOf = (request) => ({ userId: request.body === undefined ? null : readCommand(request, OF_USER).userId })

/** @param {import('fastify').FastifyRequest} request @throws {Error} REQUEST_INVALID: the body has fields */
function readNothing (request) {
  if (request.body !== undefined) readCommand(request, {})
}
