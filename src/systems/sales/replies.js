/**
 * Replies to clients: decisions of rule `bounded` (lua/rules/bounded.lua) and states as JSON.
 *
 * @import { Decision, Stored } from 'freshet-feed/systems'
 */
import { decisions, defineErrors } from 'freshet-feed/systems'

/** Errors of sales. */

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

const { numbers: numbersIn, taken: throwIfRefused } = decisions

/** @type {[string, string]} */
export const EXPIRED = ['CLAIM_EXPIRED', 'the hold of the claim has expired, or was released; claim again']

/** @type {Parameters<typeof decisions.taken>[1]} */
const REFUSED = {
  unknown: 'SALE_UNKNOWN',
  restoring: ['SALE_RESTORING', 'the sale is new, or the servers were replaced: consumers compare it with the database first'],
  closed: 'SALE_CLOSED',
  paused: ['SALE_PAUSED', 'the sale is paused; try again later'],
  not_open: ['SALE_NOT_OPEN', 'the sale is not open yet; openAt says when it will be'],
  has_claims: ['SALE_HAS_CLAIMS', 'the sale has claims, or is closed; create one with another id'],
  sold_out: 'SALE_SOLD_OUT',
  all_held: ['SALE_ALL_HELD', 'other users hold the remaining units; try again when the first hold ends (retryAfterMs)'],
  insufficient: ['SALE_INSUFFICIENT', 'fewer units are left; remaining says how many'],
  already_claimed: 'SALE_ALREADY_CLAIMED',
  not_admitted: 'SALE_NOT_ADMITTED',
  unknown_claim: ['CLAIM_UNKNOWN', 'there is no such claim, or it is not of this user; a sold claim is revoked only with its userId'],
  hold_expired: EXPIRED,
  over_limit: ['FIELD_INVALID', ({ perUser }) => `quantity: more than one user may have; expected at most ${perUser}`],
  other_mode: ['SALE_OTHER_MODE', ({ mode }) => `the sale has mode ${mode}; use the routes of that mode`]
}

/**
 * @template {Decision & { now?: number }} D @param {D} decision `now`: when it was decided, on the clock of the server
 * @returns {D} @throws {Error} SALE_..., CLAIM_UNKNOWN, CLAIM_EXPIRED, FIELD_INVALID, as throwIfRefused
 */
export const expectAccepted = (decision) => throwIfRefused(decision, REFUSED, ({ seq, details, now = 0 }) => {
  const { available, mode, nextHoldUntil } = details
  return {
    ...numbersIn(details, { available: 'remaining', openAt: 'openAt' }),
    ...(available === undefined ? {} : { decidedAtSeq: seq }),
    ...(mode === undefined ? {} : { mode }),
    ...(nextHoldUntil ? { nextHoldUntil: Number(nextHoldUntil), retryAfterMs: Number(nextHoldUntil) - now } : {})
  }
})

/** @param {Decision} decision @param {string} claimId @returns {Record<string, unknown>} */
export const claimReply = ({ seq, details }, claimId) =>
  ({ claimId, status: details.status, seq, ...numbersIn(details, { available: 'remaining', until: 'holdUntil' }) })

const QUEUE_NUMBERS = Object.freeze({ position: 'position', etaMs: 'etaMs', until: 'until' })

/** @param {Decision} decision @param {string} [ticket] @returns {Record<string, unknown>} */
export const queueReply = ({ code, details }, ticket) => ({
  status: details.status ?? code, position: 0, etaMs: 0, ...numbersIn(details, QUEUE_NUMBERS), ...(ticket ? { ticket } : {})
})

/**
 * @param {Stored} stored @param {{ nowMs: number, orderRows: number | null }} facts
 * @returns {Record<string, unknown>}
 */
export function saleOf ({ key, state, seq, generation }, { nowMs, orderRows }) {
  const number = (/** @type {string} */ name) => Number(state[name])
  return {
    id: key,
    status: statusOf({ fields: state, generation }, nowMs),
    mode: state.mode,
    stock: number('stock'),
    available: number('available'),
    held: number('held'),
    sold: number('sold'),
    orderRows,
    perUser: number('perUser'),
    openAt: number('openAt'),
    closeAt: number('closeAt'),
    holdMs: number('holdMs'),
    admitConcurrency: number('slots'),
    queued: number('queued'),
    generation,
    seq,
    asOf: nowMs
  }
}

/** @param {{ fields: Stored['state'], generation: string }} current @param {number} nowMs */
function statusOf ({ fields: { status, openAt, closeAt, lineage, sold, stock }, generation }, nowMs) {
  if (status === 'closed' || nowMs >= Number(closeAt)) return 'closed'
  if (lineage !== undefined && lineage !== generation.split('.')[0]) return 'restoring'
  if (nowMs < Number(openAt)) return 'scheduled'
  if (status === 'paused') return 'paused'
  return sold === stock ? 'sold_out' : 'open'
}
