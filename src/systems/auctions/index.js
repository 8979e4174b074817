/**
 * Auctions, on rule `max` of src/admission.
 *
 *     gateway   commands.js -> admission
 *     reader    outbox -> key view -> queries.js
 */
import { taskCommands } from '../../schedule/index.js'
import { createBidWriter } from './bids.js'
import { COMMANDS, createAuctions } from './commands.js'
import './errors.js'
import { createAuctionQueries, QUERIES, STREAM } from './queries.js'

/** @type {import('../definition.js').System} */
export default {
  name: 'auctions',
  rules: ['max'],
  unknown: 'AUCTION_UNKNOWN',
  durability: 'memory',
  demo: {
    about: '40 people bid on a few auctions',
    commands: 'PUT auctions and POST bids here',
    tasks: 'auctions are closed when they end',
    crowd: () => import('./crowd.js')
  },
  page: { summary: 'Open auctions', isOfCommands: true },
  commands: COMMANDS,
  queries: QUERIES,
  streams: [STREAM],
  migrations: new URL('./migrations/', import.meta.url),
  gateway: ({ admission }) => ({ commands: createAuctions(admission) }),
  reader: (parts) => ({ queries: createAuctionQueries(parts) }),
  consumers: ({ admission, database }) => ({ run: taskCommands(admission.submit), rows: database && createBidWriter() })
}

export { moneyField } from '../money.js'
export { createAuctions }
