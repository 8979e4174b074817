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
 * Until the end of the transaction. Without it a rebuild, which has read the events of an aggregate, could replace the row that a writer
 * has made of later ones.
 * @param {import('freshet-feed/systems').Client} client @param {readonly number[]} partitions @param {'shared' | 'exclusive'} mode
 */
export const lockPartitions = (client, partitions, mode) =>
  client.query(`SELECT pg_advisory_xact_lock${mode === 'shared' ? '_shared' : ''}($1, one) FROM unnest($2::int[]) AS one`,
    [LOCKS, partitions])

/**
 * Writes the rows of aggregates, as their events say.
 * @param {import('freshet-feed/systems').Client} client @param {readonly string[]} aggregates
 * @returns {Promise<number>} rows that were other ones
 */
export async function writeViews (client, aggregates) {
  let changed = 0
  for (const { name, prefix, columns, select } of VIEWS) {
    const own = aggregates.filter((one) => one.startsWith(prefix))
    if (own.length === 0) continue
    const rowIn = (/** @type {string} */ table) => `(${columns.map((column) => `${table}.${column}`).join(', ')})`
    const { rowCount } = await client.query(`INSERT INTO ${name} (${columns.join(', ')}) ${select} ON CONFLICT (aggregate) DO UPDATE
      SET (${columns.join(', ')}) = ROW ${rowIn('excluded')} WHERE ${rowIn(name)} IS DISTINCT FROM ${rowIn('excluded')}`, [own])
    changed += Number(rowCount)
  }
  return changed
}
