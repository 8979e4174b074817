/**
 * Auctions, on rule `max` of Freshet: a system as a user of the package could write it.
 *
 *     gateway    commands.js -> rule
 *     reader     key in memory -> queries.js
 *     consumers  the task `due` closes an auction; bids.js writes rows
 */
import { rules } from 'freshet-feed/systems'
import { writeBids } from './bids.js'
import { COMMANDS } from './commands.js'
import { ERRORS } from './errors.js'
import { createAuctionQueries, QUERIES, STREAM } from './queries.js'

/** @type {import('freshet-feed/systems').System} */
export default {
  name: 'auctions',
  rules: { max: rules.max },
  errors: ERRORS,
  unknown: 'AUCTION_UNKNOWN',
  commands: COMMANDS,
  queries: QUERIES,
  stream: STREAM,
  reader: createAuctionQueries,
  rows: { bids: writeBids },
  migrations: new URL('./migrations/', import.meta.url),
  // without a database there are no rows, and nothing else is missing
  needsDatabase: false,
  page: { file: 'auctions.html', summary: 'Open auctions', isOfCommands: true },
  demo: {
    about: '40 people bid on a few auctions',
    commands: 'PUT auctions and POST bids here',
    tasks: 'auctions are closed when they end',
    crowd: () => import('./crowd.js')
  }
}
