/**
 * Claims and tokens of a sale: their commands and queries.
 *
 * A claim remembers the number of its first event (lua/rules/bounded.lua), so a page of events says which claims begin there.
 *
 * @import { Answer, Sales } from './commands.js'
 */
import { decisions, fields, FreshetError, schemas } from 'freshet-feed/systems'
import { CODES, MAX_UNITS, NUMBERS, SEQ, USER } from './commands.js'
import { claimReply, EXPIRED } from './replies.js'
import { claimOfTicket, readTicket } from './tokens.js'

const { id: idField, invalid, optional, whole } = fields
const { count: COUNT, id: ID, objectOf, pageOf, time: TIME } = schemas

/** Most events that are read for a page: some say how earlier claims went on. */
const MAX_EVENTS = 1000
const OF_USER = { userId: optional(idField('of the claim; a sold claim is revoked only with it')) }

const CLAIMED = objectOf({
  claimId: ID,
  status: { type: 'string', enum: ['held', 'sold'] },
  seq: SEQ,
  remaining: { ...COUNT, description: 'units available' },
  holdUntil: { ...TIME, description: 'a hold ends unless it is confirmed' }
})
const RELEASED = objectOf({ claimId: ID, status: { type: 'string', enum: ['released'] }, ...NUMBERS })
const SELLING_CODES = [...CODES, 'SALE_NOT_OPEN', 'SALE_PAUSED', 'SALE_SOLD_OUT', 'SALE_ALL_HELD']
const CLAIM_CODES = ['CLAIM_EXPIRED', 'CLAIM_REJECTED', 'CLAIM_UNSETTLED']

/** @param {Sales} sales */
const finalOf = ({ settlement }) => settlement ? 'pending' : 'sold'

/** @param {Sales} sales @param {string} id @param {Answer} answer @param {string} claim @param {number} [status] of the reply */
async function settled ({ settlement }, id, answer, claim, status = 201) {
  const { isReplay } = answer
  const body = claimReply(answer, claim)
  if (body.status !== 'pending' || !settlement) return { status, body, isReplay }
  await settlement.settled(id, claim, isReplay)
  return { status, body: { ...body, status: 'sold' }, isReplay }
}

/** @param {Sales} sales @param {string} id @param {string} user @param {string} requestId @param {string[]} rest of the arguments */
async function make ({ run }, id, user, requestId, ...rest) {
  const answer = await run(id, user, requestId, ['claim', user, ...rest], true)
  if (answer.code === 'released') throw new FreshetError(...EXPIRED)
  return answer
}

/** @param {Error & { code?: string, mode?: string }} error @returns {never} */
function needsTicket (error) {
  if (error.code !== 'SALE_OTHER_MODE') throw error
  const what = error.mode === 'queue' ? 'ticket' : 'token'
  throw new FreshetError('TICKET_MISSING', `the sale has mode ${error.mode}; send a ${what} in the header Freshet-Ticket`)
}

/** @param {Error & { code?: string }} error @returns {never} */
function issuedBefore (error) {
  if (error.code !== 'SALE_ALREADY_CLAIMED') throw error
  throw new FreshetError('SALE_ALREADY_ISSUED', 'this user has a token; repeat with the same Idempotency-Key to get it again')
}

/** @type {import('freshet-feed/systems').System['commands']} */
export const CLAIM_COMMANDS = {
  claim: {
    path: '/v1/sales/:id/claims',
    summary: 'Claim units; in modes queue and token, with a ticket or token',
    body: { ...USER, quantity: optional(whole(1, MAX_UNITS)('units; default: 1')) },
    schemas: { 201: CLAIMED },
    codes: [
      ...SELLING_CODES, 'SALE_INSUFFICIENT', 'SALE_ALREADY_CLAIMED', 'SALE_NOT_ADMITTED', 'TICKET_MISSING', 'TICKET_INVALID', ...CLAIM_CODES
    ],
    async run ({ params: { id: sale }, body: { userId: user, quantity }, headers, requestId }, sales) {
      const ticket = readTicket(headers)
      const ids = await sales.idsOf(sale, user, requestId)
      if (ticket === null) {
        const made = make(sales, sale, user, requestId, String(quantity ?? 1), ids.claim, finalOf(sales), 'direct')
        return settled(sales, sale, await made.catch(needsTicket), ids.claim)
      }
      if (quantity !== null && quantity !== 1) {
        throw invalid([{ field: 'quantity', received: String(quantity), expected: '1 with a ticket or token' }])
      }
      const isToken = ticket.split('.').length === 3
      const claim = isToken ? await sales.tokens.claimOf({ sale, user, token: ticket }) : claimOfTicket(ids.secret, { sale, user, ticket })
      const answer = await sales.run(sale, user, requestId, ['confirm', user, claim, finalOf(sales)])
      if (answer.code === 'already_sold') {
        throw new FreshetError('SALE_ALREADY_CLAIMED', 'this ticket or token was used; its claim is claimId', { claimId: claim })
      }
      return settled(sales, sale, answer, claim)
    }
  },
  confirm: {
    path: '/v1/sales/:id/claims/:claim/confirm',
    summary: 'Confirm a hold: it is sold',
    body: OF_USER,
    schemas: { 200: CLAIMED },
    codes: [...CODES, 'CLAIM_UNKNOWN', ...CLAIM_CODES],
    async run ({ params: { id, claim }, body: { userId }, requestId }, sales) {
      const user = userId ?? ''
      return settled(sales, id, await sales.run(id, user, requestId, ['confirm', user, claim, finalOf(sales)]), claim, 200)
    }
  },
  release: {
    method: 'DELETE',
    path: '/v1/sales/:id/claims/:claim',
    summary: 'Release a hold, or revoke a sold claim',
    body: OF_USER,
    schemas: { 200: RELEASED },
    codes: [...CODES, 'CLAIM_UNKNOWN'],
    async run ({ params: { id, claim }, body: { userId }, requestId }, { run }) {
      const user = userId ?? ''
      // the ids of sold claims are listed, so only a command that names the user revokes one
      const answer = await run(id, user, requestId, ['release', user, claim, ...(userId === null ? ['held'] : [])])
      return { status: 200, body: { claimId: claim, status: 'released', ...decisions.units(answer) }, isReplay: answer.isReplay }
    }
  },
  issue: {
    path: '/v1/sales/:id/tokens',
    summary: 'Get a token: a unit is held until it expires',
    body: USER,
    schemas: { 200: objectOf({ token: { type: 'string' }, expiresAt: TIME }) },
    codes: [...SELLING_CODES, 'SALE_ALREADY_ISSUED', 'SALE_OTHER_MODE'],
    async run ({ params: { id: sale }, body: { userId: user }, requestId }, sales) {
      const { claim } = await sales.idsOf(sale, user, requestId)
      const answer = await make(sales, sale, user, requestId, '1', claim, finalOf(sales), 'token').catch(issuedBefore)
      const untilMs = Number(answer.details.until)
      const token = await sales.tokens.issue({ sale, user, claim, untilMs, lineage: answer.generation.split('.')[0] })
      return { status: 200, body: { token, expiresAt: untilMs }, isReplay: answer.isReplay }
    }
  }
}

const CLAIM = objectOf({
  claimId: ID,
  userId: { type: 'string', description: 'masked' },
  seq: { ...COUNT, description: 'number of its first event' },
  quantity: { ...COUNT, description: 'units' },
  status: { type: 'string', enum: ['held', 'pending', 'sold', 'released', 'revoked', 'expired', 'left'] }
})

/** @typedef {import('freshet-feed/systems').ReaderParts} Own */

/** Claims as the server stores them. @param {Own} own @param {string} id @param {string[]} claimIds @param {boolean} [isPrimary] */
export async function membersOf ({ members, mask }, id, claimIds, isPrimary = false) {
  const found = await members(id, claimIds.map((claimId) => `claim ${claimId}`), isPrimary)
  return claimIds.flatMap((claimId, i) => found[i] === null ? [] : [memberOf(mask, claimId, found[i])])
}

/** @param {Own['mask']} mask @param {string} claimId @param {string} member as it is stored */
function memberOf (mask, claimId, member) {
  const [status, quantity, user, seq] = member.split(' ')
  return { claimId, userId: mask(user), seq: Number(seq), quantity: Number(quantity), status }
}

/** A person in the queue has none yet. @param {ReturnType<typeof memberOf>} [member] @returns {boolean} */
const isClaim = (member) => member !== undefined && member.status !== 'waiting'

/** @type {import('freshet-feed/systems').System['queries']} */
export const CLAIM_QUERIES = {
  claims: {
    path: '/v1/sales/:id/claims',
    summary: 'Its claims, the oldest first, each with its status now',
    fields: fields.query.page('claims'),
    reply: pageOf(CLAIM),
    codes: ['SALE_UNKNOWN'],
    async run ({ params: { id }, query: { after, limit } }, own) {
      await own.get(id)
      const from = after ?? 0
      const events = await own.events(id, { after: from, limit: MAX_EVENTS })
      const ids = [...new Set(events.map((/** @type {any} */ { claim }) => claim).filter(Boolean))]
      const items = (await membersOf(own, id, ids)).filter(({ seq }) => seq > from).sort((a, b) => a.seq - b.seq).slice(0, limit)
      const isAll = items.length < limit && events.length < MAX_EVENTS
      const last = items.length === limit ? items.at(-1)?.seq : events.at(-1)?.seq
      return { items, next: isAll || last === undefined ? null : String(last) }
    }
  },
  claim: {
    path: '/v1/sales/:id/claims/:claim',
    summary: 'A claim',
    reply: CLAIM,
    codes: ['SALE_UNKNOWN', 'CLAIM_UNKNOWN'],
    async run ({ params: { id, claim } }, own) {
      await own.get(id)
      const [known] = await membersOf(own, id, [claim])
      if (isClaim(known)) return known
      const member = await own.memberAtPrimary(id, `claim ${claim}`)
      const found = member === null ? undefined : memberOf(own.mask, claim, member)
      if (isClaim(found)) return found
      throw new FreshetError('CLAIM_UNKNOWN', `sale ${id} has no claim ${claim}; check both ids`)
    }
  }
}
