/**
 * Auctions, on rule `max` of Freshet: a system as a user of the package could write it.
 *
 *     gateway    commands.js -> rule
 *     reader     key in memory -> queries.js
 *     consumers  the task `due` closes an auction; bids are written as rows
 */
import { columnsOf, defineErrors, rules } from 'freshet-feed/systems'
import { COMMANDS } from './commands.js'
import { createAuctionQueries, QUERIES, STREAM } from './queries.js'

/** Errors of auctions. */

const ERRORS = defineErrors('auctions', {
  AUCTION_UNKNOWN: { status: 404, meaning: 'there is no auction with this id' },
  AUCTION_NOT_OPEN: { status: 425, retryable: true, meaning: 'the auction opens later' },
  AUCTION_CLOSED: { status: 410, meaning: 'the auction is closed' },
  AUCTION_HAS_BIDS: { status: 409, meaning: 'the auction has bids, or is closed, and cannot be changed' },
  AUCTION_OPEN: { status: 409, meaning: 'the auction is open, so it has no result yet' },
  AUCTION_NO_BUY_NOW: { status: 409, meaning: 'the auction has no buy-now price, or bids have reached it' }
})

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

// The bid writer: a consumer that makes rows of bids, so that a user can ask for all of them.

const BIDS = Object.freeze(['bid', 'proxy', 'buy'])
const WRITE = `INSERT INTO bids (auction, seq, request_id, user_id, amount, kind, at)
  SELECT auction, seq, request_id, user_id, amount, kind, to_timestamp(ms / 1000.0)
  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::float8[])
    AS one (auction, seq, request_id, user_id, amount, kind, ms)
  ON CONFLICT (auction, seq, request_id) DO NOTHING`

/** @type {import('freshet-feed/systems').Rows['write']} */
async function writeBids (client, entries) {
  const bids = entries.filter(({ fields }) => BIDS.includes(fields.type))
  if (bids.length === 0) return
  await client.query(WRITE, columnsOf(bids, ({ key, seq, fields: { request, user, amount, type, ts } }) =>
    [key, seq, request, user, amount, type, ts]))
}
