/**
 * Tickets of the waiting room: the id of a claim and a keyed hash of it, its sale and its user. Every gateway and reader that knows the
 * secret of the system can check one, without asking a server. Claim ids come from the same secret, so that a request that is repeated
 * names the same claim, and no one else can guess it.
 */
import { timingSafeEqual } from 'node:crypto'
import { FreshetError, idWith } from 'freshet-feed/systems'

const MAX_CHARS = 1024

/**
 * The header Freshet-Ticket.
 * @param {import('node:http').IncomingHttpHeaders} headers @returns {string | null} a ticket or a token; null if there is none
 * @throws {FreshetError} REQUEST_INVALID
 */
export function readTicket ({ 'freshet-ticket': ticket }) {
  if (ticket === undefined) return null
  if (typeof ticket === 'string' && ticket.length <= MAX_CHARS) return ticket
  throw new FreshetError('REQUEST_INVALID', `Freshet-Ticket: longer than ${MAX_CHARS} characters; expected a ticket or a token`)
}

/** @param {string} secret @param {{ sale: string, user: string, requestId: string }} request @returns {string} */
export const claimIdOf = (secret, { sale, user, requestId }) => idWith(secret, 'claim', sale, user, requestId)

/** @param {string} secret @param {{ sale: string, user: string, claim: string }} position @returns {string} */
export const ticketOf = (secret, { sale, user, claim }) => `${claim}.${idWith(secret, 'ticket', sale, user, claim)}`

/**
 * @param {string} secret @param {{ sale: string, user: string, ticket: string | null }} shown
 * @returns {string} the claim
 * @throws {FreshetError} TICKET_MISSING, TICKET_INVALID
 */
export function claimOfTicket (secret, { sale, user, ticket }) {
  if (ticket === null) throw new FreshetError('TICKET_MISSING', 'this needs the ticket of the queue; send it in the header Freshet-Ticket')
  const [claim] = ticket.split('.')
  const [given, right] = [ticket, ticketOf(secret, { sale, user, claim })].map((text) => Buffer.from(text))
  if (given.length === right.length && timingSafeEqual(given, right)) return claim
  throw new FreshetError('TICKET_INVALID', 'the ticket is not one of this sale and user; join the queue for one')
}
