/** The bid writer: a consumer that makes rows of bids, so that a user can ask for all of them. */
import { columnsOf } from 'freshet-feed/systems'

const BIDS = Object.freeze(['bid', 'proxy', 'buy'])
const WRITE = `INSERT INTO bids (auction, seq, request_id, user_id, amount, kind, at)
  SELECT auction, seq, request_id, user_id, amount, kind, to_timestamp(ms / 1000.0)
  FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::float8[])
    AS one (auction, seq, request_id, user_id, amount, kind, ms)
  ON CONFLICT (auction, seq, request_id) DO NOTHING`

/** @type {import('freshet-feed/systems').Rows['write']} */
export async function writeBids (client, entries) {
  const bids = entries.filter(({ fields }) => BIDS.includes(fields.type))
  if (bids.length === 0) return
  await client.query(WRITE, columnsOf(bids, ({ key, seq, fields: { request, user, amount, type, ts } }) =>
    [key, seq, request, user, amount, type, ts]))
}
