/** Errors of prices. */
import { defineErrors } from 'freshet-feed/systems'

export const ERRORS = defineErrors('prices', {
  ASSET_UNKNOWN: { status: 404, meaning: 'there is no asset with this id' },
  PRICE_NO_DATA: { status: 503, retryable: true, meaning: 'the asset has no price yet' },
  PRICE_NO_QUORUM: { status: 503, retryable: true, meaning: 'too few sources agree on a price' },
  PRICE_EXPIRED: { status: 503, retryable: true, meaning: 'the last price is older than its hard expiry' },
  PRICE_SOURCES_FAILED: { status: 502, retryable: true, meaning: 'the refresh found no price' },
  PRICE_REFRESH_LATE: { status: 504, retryable: true, meaning: 'the refresh did not end in time' }
})
