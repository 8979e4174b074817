/**
 * Decisions of rule `max` (lua/rules/max.lua) and states as JSON. User ids are masked by a keyed hash, so that bidders can be
 * distinguished and none is named; maximum and reserve are never shown.
 *
 * @typedef {(userId: string) => string} Mask
 *
 * @import { Decision, Event, Stored } from 'freshet-feed/systems'
 */
import { decisions, FreshetError, moneyText } from 'freshet-feed/systems'

const { numbers: numbersIn, taken: throwIfRefused } = decisions

/** @param {string} minor units, 0 or empty = none */
const amountOrNull = (minor) => minor === '0' || minor === '' ? null : moneyText(minor)

/** @type {Parameters<typeof decisions.taken>[1]} */
const REFUSED = {
  unknown: 'AUCTION_UNKNOWN',
  closed: 'AUCTION_CLOSED',
  not_open: ['AUCTION_NOT_OPEN', 'the auction is not open yet; openAt says when it will be'],
  has_bids: ['AUCTION_HAS_BIDS', 'the auction has bids, or is closed; create one with another id'],
  no_buy_now: 'AUCTION_NO_BUY_NOW',
  invalid_times: ['FIELD_INVALID', ({ now }) => `closeAt: not after openAt and the time of the server, ${now}; expected a later time`]
}
const TIMES = Object.freeze({ closeAt: 'closeAt', openAt: 'openAt' })
const STATUS_OF = Object.freeze(/** @type {Record<string, number>} */ ({ created: 201, accepted: 201 }))

/** @param {Record<string, any>} details */
const priceIn = ({ currentBid }) => currentBid === undefined ? {} : { currentBid: amountOrNull(currentBid) }

/**
 * @param {Decision} decision @param {{ id?: string, bidder?: string }} [facts] `id` of the auction, where the command was about it;
 *   `bidder`: the masked id of the user
 * @returns {{ status: number, body: Record<string, unknown> }}
 * @throws {Error} AUCTION_UNKNOWN, AUCTION_CLOSED, AUCTION_NOT_OPEN, AUCTION_HAS_BIDS, AUCTION_NO_BUY_NOW, FIELD_INVALID, as throwIfRefused
 */
export function replyTo (decision, { id, bidder } = {}) {
  const { code, seq, details } = throwIfRefused(decision, REFUSED, (refusal) =>
    ({ ...priceIn(refusal.details), ...numbersIn(refusal.details, TIMES), decidedAtSeq: refusal.seq }))
  const isRejected = code === 'too_low' || code === 'self_outbid'
  const hasNext = details.minNext !== undefined && code !== 'ended' && code !== 'bought'
  return {
    status: STATUS_OF[code] ?? 200,
    body: {
      ...(id === undefined ? {} : { id }),
      code: code === 'ended' ? 'closed' : code,
      ...(isRejected ? {} : leadingOf(code, details)),
      ...priceIn(details),
      ...(hasNext ? { minNext: moneyText(details.minNext) } : {}),
      ...(isRejected ? { decidedAtSeq: seq } : { seq }),
      ...numbersIn(details, { closeAt: 'closeAt' }),
      ...(bidder === undefined || isRejected ? {} : { bidder })
    }
  }
}

/** @param {string} code @param {Record<string, any>} details */
const leadingOf = (code, { leading }) => code === 'accepted' ? { leading: leading === '1' } : code === 'max_raised' ? { leading: true } : {}

/**
 * @param {Stored} stored @param {{ mask: Mask, nowMs: number }} options
 * @returns {Record<string, unknown>}
 */
export function auctionOf ({ key, state, seq, generation }, { mask, nowMs }) {
  const { price, leader, start, increment, reserve, buyNow, bids, currency } = state
  const hasBids = leader !== ''
  return {
    id: key,
    currentBid: hasBids ? moneyText(price) : null,
    leader: hasBids ? mask(leader) : null,
    status: statusOf(state, nowMs),
    minNext: moneyText(hasBids ? Number(price) + Number(increment) : start),
    bids: Number(bids),
    seq,
    currency,
    startPrice: moneyText(start),
    minIncrement: moneyText(increment),
    buyNow: amountOrNull(buyNow),
    reserveMet: reserve === '' ? null : hasBids && Number(price) >= Number(reserve),
    openAt: Number(state.openAt),
    closeAt: Number(state.closeAt),
    generation,
    asOf: nowMs
  }
}

/** @param {Stored['state']} state @param {number} nowMs @returns {'scheduled' | 'open' | 'closed'} */
function statusOf ({ status, openAt }, nowMs) {
  if (status === 'closed') return 'closed'
  return nowMs < Number(openAt) ? 'scheduled' : 'open'
}

/**
 * @param {Stored} stored @param {Event | undefined} last the last event @param {Mask} mask
 * @param {(winner: string) => boolean} isNamed whether the client may see its user id
 * @throws {FreshetError} AUCTION_OPEN
 */
export function resultOf ({ key, state, seq }, last, mask, isNamed) {
  const { status, price, leader, reserve, bids } = state
  if (status !== 'closed') {
    const closeAt = Number(state.closeAt)
    throw new FreshetError('AUCTION_OPEN', `the auction is open until ${new Date(closeAt).toISOString()}; ask again then`, { closeAt })
  }
  const isSold = leader !== '' && (reserve === '' || Number(price) >= Number(reserve))
  return {
    id: key,
    sold: isSold,
    winner: isSold ? mask(leader) : null,
    ...(isSold && isNamed(leader) ? { winnerId: leader } : {}),
    price: isSold ? moneyText(price) : null,
    highestBid: leader === '' ? null : moneyText(price),
    reserveMet: reserve === '' ? null : leader !== '' && Number(price) >= Number(reserve),
    bids: Number(bids),
    seq,
    closedAt: Number(last?.ts ?? state.closeAt)
  }
}

/** An event of an auction. @param {any} event @param {Mask} mask */
export const eventOf = ({ seq, type, user, amount, previous, ts, closeAt }, mask) => ({
  seq,
  by: type,
  userId: user === '' ? null : mask(user),
  amount: amountOrNull(amount),
  previous: amountOrNull(previous),
  ts,
  ...(closeAt === undefined ? {} : { closeAt: Number(closeAt) })
})
