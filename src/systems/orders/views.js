/**
 * The views of orders in SQL: of each, the statement that makes its rows from events. Writing and rebuilding use the same one, so a view
 * is the fold of its events by construction. No view depends on the order of events of different partitions.
 */

/** The first and the last event of each aggregate of $1. @param {string} first what comes first, after WHERE */
const endsOf = (first) => `FROM unnest($1::text[]) AS wanted (aggregate)
  JOIN LATERAL (SELECT * FROM events e WHERE e.aggregate = wanted.aggregate ${first} LIMIT 1) AS first ON true
  JOIN LATERAL (SELECT * FROM events e WHERE e.aggregate = wanted.aggregate ORDER BY version DESC LIMIT 1) AS last ON true`

/** @typedef {{ name: string, prefix: string, columns: readonly string[], select: string }} View `prefix` of its aggregates */

/** @type {readonly View[]} */
export const VIEWS = Object.freeze([
  {
    name: 'order_view',
    prefix: 'o:',
    columns: ['aggregate', 'partition', 'version', 'status', 'reason', 'parked', 'customer', 'total', 'lines', 'placed_at', 'changed_at'],
    select: `SELECT first.aggregate, first.partition, last.version, last.data->>'status', last.data->>'reason',
      coalesce(last.data->>'parked', ''), first.data->>'customer', (first.data->>'total')::bigint, (first.data->>'lines')::jsonb,
      first.at, last.at ${endsOf('ORDER BY version')}`
  },
  {
    name: 'stock_view',
    prefix: 'p:',
    columns: ['aggregate', 'partition', 'version', 'status', 'about', 'available', 'held', 'sold', 'changed_at'],
    select: `SELECT first.aggregate, first.partition, last.version, CASE last.type WHEN 'closed' THEN 'deleted' ELSE 'open' END,
      (first.data->>'about')::jsonb, coalesce(last.data->>'available', last.data->>'stock')::bigint,
      coalesce(last.data->>'held', '0')::bigint, coalesce(last.data->>'sold', '0')::bigint, last.at
      ${endsOf("AND type = 'open' ORDER BY version DESC")}`
  },
  {
    name: 'customer_view',
    prefix: 'c:',
    columns: ['aggregate', 'partition', 'version', 'about', 'created_at'],
    select: `SELECT first.aggregate, first.partition, last.version, (first.data->>'about')::jsonb, first.at ${endsOf('ORDER BY version')}`
  }
])

/** The name space of locks on partitions: any number. */
const LOCKS = 7_319_403

/**
 * Until the end of the transaction. Without it a writer, which has written rows and waits for its cursor, and a rebuild, which has the
 * cursor and replaces these rows, would wait for each other.
 * @param {import('../../consumers/index.js').SqlClient} client @param {number} partition @param {'shared' | 'exclusive'} mode
 */
export const lockPartition = (client, partition, mode) =>
  client.query(`SELECT pg_advisory_xact_lock${mode === 'shared' ? '_shared' : ''}($1, $2)`, [LOCKS, partition])

/**
 * Writes the rows of aggregates, as their events say.
 * @param {import('../../consumers/index.js').SqlClient} client @param {readonly string[]} aggregates
 * @param {(view: View) => string} [tableOf] where the rows go
 */
export async function writeViews (client, aggregates, tableOf = ({ name }) => name) {
  for (const view of VIEWS) {
    const own = aggregates.filter((one) => one.startsWith(view.prefix))
    if (own.length === 0) continue
    const changed = view.columns.slice(1).map((column) => `${column} = excluded.${column}`).join(', ')
    await client.query(`INSERT INTO ${tableOf(view)} (${view.columns.join(', ')}) ${view.select}
      ON CONFLICT (aggregate) DO UPDATE SET ${changed}`, [own])
  }
}
