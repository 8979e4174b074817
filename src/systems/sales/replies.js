/**
 * Replies to clients: decisions of rule `bounded` (lua/rules/bounded.lua) and states as JSON.
 *
 * @import { Decision, Stored } from 'freshet-feed/systems'
 */
import { decisions } from 'freshet-feed/systems'

const { numbers: numbersIn, taken: throwIfRefused } = decisions

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
  hold_expired: 'CLAIM_EXPIRED',
  over_limit: ['FIELD_INVALID', ({ perUser }) => `quantity: more than one user may have; expected at most ${perUser}`],
  other_mode: ['SALE_OTHER_MODE', ({ mode }) => `the sale has mode ${mode}`]
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
