/** Errors of auctions. */
import { defineErrors } from 'freshet-feed/systems'

export const ERRORS = defineErrors('auctions', {
  AUCTION_UNKNOWN: { status: 404, meaning: 'there is no auction with this id' },
  AUCTION_NOT_OPEN: { status: 425, retryable: true, meaning: 'the auction opens later' },
  AUCTION_CLOSED: { status: 410, meaning: 'the auction is closed' },
  AUCTION_HAS_BIDS: { status: 409, meaning: 'the auction has bids, or is closed, and cannot be changed' },
  AUCTION_OPEN: { status: 409, meaning: 'the auction is open, so it has no result yet' },
  AUCTION_NO_BUY_NOW: { status: 409, meaning: 'the auction has no buy-now price, or bids have reached it' }
})
