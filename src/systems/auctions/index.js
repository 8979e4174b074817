/**
 * Auctions, on rule `max` of src/admission.
 *
 *     gateway   routes -> commands.js -> admission
 *     reader    outbox -> key view -> queries.js -> routes
 *
 * @typedef {import('./commands.js').Auctions} Auctions
 * @typedef {import('./queries.js').AuctionQueries} AuctionQueries
 * @typedef {import('./commands.js').Reply} Reply
 */
import './errors.js'

export const SYSTEM = 'auctions'
export const RULE = 'max'

export { createBidWriter } from './bids.js'
export { createAuctions } from './commands.js'
export { createAuctionLive } from './live.js'
export { createAuctionQueries } from './queries.js'
