/** The commands of sales as routes: create, claim, confirm, release, the waiting room, tokens, restock, pause, resume, close. */
import { choiceField, ID_TEXT, idField, millisField, optional, timeField, wholeField } from '../../http/index.js'
import { COUNT, objectOf, TIME } from '../schemas.js'
import { readTicket } from './tickets.js'

const DAY_MS = 86_400_000
const MAX_UNITS = 1_000_000_000
const MAX_SLOTS = 1000

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

const SEQ = { ...COUNT, description: 'number of the event' }
const NUMBERS = { seq: SEQ, available: COUNT, held: COUNT, sold: COUNT }
const SALE = objectOf({ id: ID_TEXT, code: { type: 'string', enum: ['created', 'unchanged', 'accepted'] }, ...NUMBERS })
const CLAIMED = objectOf({
  claimId: ID_TEXT,
  status: { type: 'string', enum: ['held', 'sold'] },
  seq: SEQ,
  remaining: { ...COUNT, description: 'units available' },
  holdUntil: { ...TIME, description: 'a hold ends unless it is confirmed' }
})
const RELEASED = objectOf({ claimId: ID_TEXT, status: { type: 'string', enum: ['released'] }, ...NUMBERS })
const PLACE = objectOf({
  status: { type: 'string', enum: ['waiting', 'admitted'] },
  position: { ...COUNT, description: 'from 1; 0: admitted' },
  etaMs: { ...COUNT, description: 'estimated time to admission' },
  until: { ...TIME, description: 'end of the admission' },
  ticket: { type: 'string', description: 'for Freshet-Ticket; only in the reply of the request that joined' }
})
const CODES = ['SALE_UNKNOWN', 'SALE_CLOSED', 'SALE_RESTORING']
const SELLING_CODES = [...CODES, 'SALE_NOT_OPEN', 'SALE_PAUSED', 'SALE_SOLD_OUT', 'SALE_ALL_HELD']
const CLAIM_CODES = ['CLAIM_EXPIRED', 'CLAIM_REJECTED', 'CLAIM_UNSETTLED']

/** @param {'pause' | 'resume' | 'close'} op @param {string} summary @returns {import('../../http/index.js').CommandRow} */
const turn = (op, summary) => ({
  path: `/v1/sales/:id/${op}`,
  access: 'admin',
  summary,
  replies: { 200: SALE },
  codes: CODES,
  run: ({ params: { id }, requestId }, sales) => sales.turn(id, op, requestId)
})

/** @type {import('../definition.js').System['commands']} */
export const COMMANDS = {
  create: {
    method: 'PUT',
    path: '/v1/sales/:id',
    access: 'admin',
    summary: 'Create a sale, or change one without claims',
    body: TERMS,
    replies: { 200: SALE, 201: SALE },
    codes: ['SALE_HAS_CLAIMS', 'SALE_RESTORING'],
    run: ({ params: { id }, body, requestId }, sales) => sales.create(id, body, requestId)
  },
  claim: {
    path: '/v1/sales/:id/claims',
    summary: 'Claim units; in modes queue and token, with a ticket or token',
    body: CLAIM,
    replies: { 201: CLAIMED },
    codes: [
      ...SELLING_CODES, 'SALE_INSUFFICIENT', 'SALE_ALREADY_CLAIMED', 'SALE_NOT_ADMITTED', 'TICKET_MISSING', 'TICKET_INVALID', ...CLAIM_CODES
    ],
    run: ({ params: { id }, body, headers, requestId }, sales) => sales.claim(id, body, readTicket(headers), requestId)
  },
  confirm: {
    path: '/v1/sales/:id/claims/:claim/confirm',
    summary: 'Confirm a hold: it is sold',
    body: OF_USER,
    replies: { 200: CLAIMED },
    codes: [...CODES, 'CLAIM_UNKNOWN', ...CLAIM_CODES],
    run: ({ params: { id, claim }, body, requestId }, sales) => sales.confirm(id, claim, body, requestId)
  },
  release: {
    method: 'DELETE',
    path: '/v1/sales/:id/claims/:claim',
    summary: 'Release a hold, or revoke a sold claim',
    body: OF_USER,
    replies: { 200: RELEASED },
    codes: [...CODES, 'CLAIM_UNKNOWN'],
    run: ({ params: { id, claim }, body, requestId }, sales) => sales.release(id, claim, body, requestId)
  },
  join: {
    path: '/v1/sales/:id/queue',
    summary: 'Join the queue',
    body: USER,
    replies: { 200: PLACE },
    codes: [...CODES, 'SALE_SOLD_OUT', 'SALE_ALREADY_CLAIMED', 'SALE_OTHER_MODE'],
    run: ({ params: { id }, body, requestId }, sales) => sales.join(id, body, requestId)
  },
  leave: {
    method: 'DELETE',
    path: '/v1/sales/:id/queue/:userId',
    summary: 'Leave the queue, or give an admission back',
    replies: { 200: objectOf({ status: { type: 'string', enum: ['left'] } }) },
    codes: [...CODES, 'TICKET_MISSING', 'TICKET_INVALID', 'CLAIM_UNKNOWN', 'SALE_ALREADY_CLAIMED'],
    run: ({ params: { id, userId }, headers, requestId }, sales) => sales.leave(id, userId, readTicket(headers), requestId)
  },
  issue: {
    path: '/v1/sales/:id/tokens',
    summary: 'Get a token: a unit is held until it expires',
    body: USER,
    replies: { 200: objectOf({ token: { type: 'string' }, expiresAt: TIME }) },
    codes: [...SELLING_CODES, 'SALE_ALREADY_ISSUED', 'SALE_OTHER_MODE'],
    run: ({ params: { id }, body, requestId }, sales) => sales.issue(id, body, requestId)
  },
  restock: {
    path: '/v1/sales/:id/restock',
    access: 'admin',
    summary: 'More units',
    body: { quantity: wholeField(1, MAX_UNITS)('more units') },
    replies: { 200: SALE },
    codes: CODES,
    run: ({ params: { id }, body, requestId }, sales) => sales.restock(id, body, requestId)
  },
  pause: turn('pause', 'Pause: holds can be confirmed, nothing else is sold'),
  resume: turn('resume', 'Resume'),
  close: turn('close', 'Close before closeAt')
}
