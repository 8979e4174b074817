/**
 * The waiting room of a sale: joining, leaving, and the positions of people in it, for those that show their ticket.
 *
 * @import { QueuePosition } from 'freshet-feed/systems'
 */
import { fields, FreshetError, schemas } from 'freshet-feed/systems'
import { CODES, USER } from './commands.js'
import { queueReply } from './replies.js'
import { claimOfTicket, readTicket, ticketOf } from './tokens.js'

const { count: COUNT, id: ID, objectOf, time: TIME } = schemas

/** A client should ask so many times within the estimated time. */
const ASK_TIMES = 3
const MAX_ASK_S = 30

const PLACE = {
  position: { ...COUNT, description: 'from 1' },
  etaMs: { ...COUNT, description: 'estimated time to admission, with the time until the sale opens' },
  until: { ...TIME, description: 'end of the admission' }
}
const JOINED = objectOf({
  ...PLACE,
  status: { type: 'string', enum: ['waiting', 'admitted'] },
  position: { ...COUNT, description: 'from 1; 0: admitted' },
  ticket: { type: 'string', description: 'for Freshet-Ticket; only in the reply of the request that joined' }
})
const SHOWN = objectOf({
  ...PLACE,
  status: { type: 'string', enum: ['waiting', 'admitted', 'claimed', 'sold_out', 'expired', 'left', 'unknown'] },
  claimId: ID
})
const TICKET_CODES = ['SALE_UNKNOWN', 'TICKET_MISSING', 'TICKET_INVALID']

/** @type {import('freshet-feed/systems').System['commands']} */
export const QUEUE_COMMANDS = {
  join: {
    path: '/v1/sales/:id/queue',
    summary: 'Join the queue',
    body: USER,
    schemas: { 200: JOINED },
    codes: [...CODES, 'SALE_SOLD_OUT', 'SALE_ALREADY_CLAIMED', 'SALE_OTHER_MODE'],
    async run ({ params: { id: sale }, body: { userId: user }, requestId }, { run, idsOf }) {
      const { claim, secret } = await idsOf(sale, user, requestId)
      const answer = await run(sale, user, requestId, ['join', user, claim])
      const ticket = answer.code === 'accepted' ? ticketOf(secret, { sale, user, claim }) : undefined
      return { status: 200, body: queueReply(answer, ticket), isReplay: answer.isReplay }
    }
  },
  leave: {
    method: 'DELETE',
    path: '/v1/sales/:id/queue/:userId',
    summary: 'Leave the queue, or give an admission back',
    schemas: { 200: objectOf({ status: { type: 'string', enum: ['left'] } }) },
    codes: [...CODES, 'TICKET_MISSING', 'TICKET_INVALID', 'CLAIM_UNKNOWN', 'SALE_ALREADY_CLAIMED'],
    async run ({ params: { id: sale, userId: user }, headers, requestId }, { run, idsOf }) {
      const { secret } = await idsOf(sale, user, requestId)
      const claim = claimOfTicket(secret, { sale, user, ticket: readTicket(headers) })
      const answer = await run(sale, user, requestId, ['leave', user, claim])
      if (answer.code === 'already_sold') {
        throw new FreshetError('SALE_ALREADY_CLAIMED', 'this ticket was used; its claim is claimId', { claimId: claim })
      }
      return { status: 200, body: { status: 'left' }, isReplay: answer.isReplay }
    }
  }
}

/** @param {QueuePosition} current @returns {number} seconds */
const retryAfterS = ({ etaMs }) => Math.max(1, Math.min(MAX_ASK_S, Math.ceil(etaMs / ASK_TIMES / 1000)))

/** A position as JSON. @param {QueuePosition} current */
const shownPosition = ({ status, position, etaMs, untilMs, claim }) => ({
  status,
  ...(status === 'waiting' ? { position, etaMs } : {}),
  ...(status === 'admitted' ? { until: untilMs } : {}),
  ...(status === 'claimed' ? { claimId: claim } : {})
})

/** The claim of a shown ticket. @param {any} request @param {{ secret: string, get: any }} parts */
async function claimIn ({ params: { id: sale, userId: user }, headers }, { secret, get }) {
  const claim = claimOfTicket(secret, { sale, user, ticket: readTicket(headers) })
  await get(sale)
  return claim
}

/** @type {import('freshet-feed/systems').OwnQuery} */
export const QUEUE_QUERY = {
  path: '/v1/sales/:id/queue/:userId',
  summary: 'Where a person is in the queue',
  fields: { waitMs: fields.query.wait('another status than waiting', 0) },
  reply: SHOWN,
  codes: TICKET_CODES,
  async run (request, parts, reply) {
    const { params: { id, userId }, query: { waitMs } } = request
    let current = await parts.room.positionOf(id, userId, await claimIn(request, parts))
    if (current.status === 'waiting' && waitMs > 0) {
      await parts.waitFor((/** @type {() => void} */ done) => parts.room.watch(id, userId, (/** @type {QueuePosition} */ next) => {
        current = next
        if (current.status !== 'waiting') done()
      }), waitMs)
    }
    if (current.status === 'waiting') reply.header('retry-after', retryAfterS(current))
    return shownPosition(current)
  }
}

/** @type {import('freshet-feed/systems').StreamRoute} */
export const QUEUE_STREAM = {
  path: '/v1/sales/:id/queue/:userId/live',
  summary: 'Where a person is in the queue, whenever that changes: `place`',
  reply: SHOWN,
  codes: TICKET_CODES,
  async source (request, parts) {
    await claimIn(request, parts)
    const { id, userId } = request.params
    return parts.hub.sourceFrom((/** @type {(bytes: Buffer) => void} */ send) =>
      parts.room.watch(id, userId, (/** @type {QueuePosition} */ current) =>
        send(Buffer.from(`event: place\ndata: ${JSON.stringify(shownPosition(current))}\n\n`))))
  }
}
