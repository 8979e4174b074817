/**
 * An auction as server-sent events: `snapshot` (the auction, and its latest bids), `bid`, `close`, and `reset` (../live.js).
 */
import { createLive } from '../live.js'

const SNAPSHOT_BIDS = 20

/**
 * @param {{ queries: import('./queries.js').AuctionQueries, view: import('../../admission/index.js').KeyView,
 *   push: import('../../push/index.js').Push, log: import('pino').Logger }} parts
 */
export const createAuctionLive = ({ queries, ...parts }) => createLive({
  ...parts,
  known: queries.known,
  shown: {
    snapshot: (one) => ({ auction: queries.shown(one), bids: one.events.slice(-SNAPSHOT_BIDS).reverse().map(queries.shownEvent) }),
    event: (event) => ({ name: event.type === 'close' ? 'close' : 'bid', data: queries.shownEvent(event) })
  }
})
