/** Errors of sales. */
import { defineErrors } from 'freshet-feed/systems'

export const ERRORS = defineErrors('sales', {
  SALE_UNKNOWN: { status: 404, meaning: 'there is no sale with this id' },
  SALE_NOT_OPEN: { status: 425, retryable: true, meaning: 'the sale opens later' },
  SALE_CLOSED: { status: 410, meaning: 'the sale is closed' },
  SALE_PAUSED: { status: 409, retryable: true, meaning: 'the sale is paused' },
  SALE_RESTORING: {
    status: 503,
    retryable: true,
    meaning: 'the sale is new, or the servers were replaced; claims are rejected until it was compared with the database'
  },
  SALE_HAS_CLAIMS: { status: 409, meaning: 'the sale has claims, or is closed, and cannot be changed' },
  SALE_SOLD_OUT: { status: 409, meaning: 'every unit is sold' },
  SALE_ALL_HELD: { status: 409, retryable: true, meaning: 'other users hold the remaining units; holds may expire' },
  SALE_INSUFFICIENT: { status: 409, meaning: 'fewer units are left than the claim asks for' },
  SALE_ALREADY_CLAIMED: { status: 409, meaning: 'the user has the maximum number of units' },
  SALE_ALREADY_ISSUED: { status: 409, meaning: 'the user has a token already' },
  SALE_OTHER_MODE: { status: 409, meaning: 'the sale has another mode' },
  SALE_NOT_ADMITTED: { status: 403, retryable: true, meaning: 'the user is still in the waiting room' },
  TICKET_MISSING: { status: 401, meaning: 'the sale needs a ticket or a token in the header Freshet-Ticket' },
  TICKET_INVALID: { status: 401, meaning: 'the ticket or token is not one of this sale and user' },
  CLAIM_UNKNOWN: { status: 404, meaning: 'there is no claim with this id' },
  CLAIM_EXPIRED: { status: 410, meaning: 'the hold of the claim has expired, or was released' },
  CLAIM_REJECTED: { status: 409, meaning: 'the database rejected the order; the units are free again' },
  CLAIM_UNSETTLED: { status: 503, retryable: true, meaning: 'the database did not answer in time; the claim is settled later' }
})
