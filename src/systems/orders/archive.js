/**
 * The archive: events of orders, products and customers in SQL, and the views of them, in one transaction with the cursor.
 *
 * An event that is there already is left alone, because an entry may be written again. One with the same number and another content is from
 * a history that the servers have lost: it is counted, and logged as an error.
 *
 * @typedef {import('freshet-feed/systems').RawEntry} Entry
 */
import { isDeepStrictEqual } from 'node:util'
import { columnsOf } from 'freshet-feed/systems'
import { FreshetError } from './errors.js'
import { sagaIdOf } from './keys.js'

/** Entries of these types are for the owner of the partition, and are no events. */
const SIGNALS = Object.freeze(['wanted', 'resume'])
const SEQ_STEP = 1_000_000n

const WRITE = `INSERT INTO events (partition, generation, seq, aggregate, version, type, data, at)
  SELECT partition, generation, seq, aggregate, version, type, data, to_timestamp(ms / 1000.0)
  FROM unnest($1::int[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::jsonb[], $8::float8[])
    AS one (partition, generation, seq, aggregate, version, type, data, ms)
  ON CONFLICT DO NOTHING RETURNING aggregate, version`
const STORED = `SELECT stored.aggregate, stored.version, stored.data FROM events stored
  JOIN unnest($1::text[], $2::bigint[]) AS one (aggregate, version) USING (aggregate, version)`

/** Of a product and a claim: a row if it was sold. */
export const SOLD = "SELECT FROM events WHERE aggregate = $1 AND type = 'sold' AND data->>'claim' = $2 LIMIT 1"

/**
 * @param {{ partitionOf: (key: string) => number, generationOf: (partition: number, id: string) => Promise<string>,
 *   resume: (key: string) => Promise<unknown>, onDifferent: () => void, log: any }} parts `generationOf`: lineage on the primary, which
 *   must have the entry, once what is in the outbox is as durable as orders are; `resume` an order whose dead letter was replayed
 * @returns {{ name: string } & import('freshet-feed/systems').Rows}
 */
export function createArchive ({ partitionOf, generationOf, resume, onDifferent, log }) {
  return {
    name: 'archive',

    prepare: generationsOf,
    write: (client, entries, prepared) => writeAll(client, [{ partition: partitionOf(entries[0].key), entries }], prepared),
    writeAll,

    async after (entries) {
      await Promise.all(entries.filter(({ fields }) => fields.type === 'resume').map(({ key }) => resume(key)))
    }
  }

  /**
   * Before rows are written: a primary that is promoted later has no other history.
   * @param {{ partition: number, entries: Entry[] }[]} batches @returns {Promise<Map<number, string>>} by partition
   */
  async function generationsOf (batches) {
    const written = batches.filter(({ entries }) => entries.some(isEvent))
    return new Map(await Promise.all(written.map(async ({ partition, entries }) =>
      /** @type {const} */ ([partition, await generationOf(partition, /** @type {Entry} */ (entries.at(-1)).id)]))))
  }

  /** @type {NonNullable<import('freshet-feed/systems').Rows['writeAll']>} */
  async function writeAll (client, batches, prepared = generationsOf(batches)) {
    /** @type {Map<number, string>} */
    const generations = await prepared
    if (generations.size === 0) return
    await lockPartitions(client, [...generations.keys()], 'shared')
    const events = batches.flatMap(({ partition, entries }) => entries.filter(isEvent)
      .map((entry) => ({ partition, generation: generations.get(partition), ...eventOf(entry) })))
    const { rows } = await client.query(WRITE, columnsOf(events, ({ partition, generation, seq, aggregate, version, type, data, ms }) =>
      [partition, generation, seq, aggregate, version, type, JSON.stringify(data), ms]))
    if (rows.length < events.length) {
      const isNew = new Set(rows.map(({ aggregate, version }) => `${aggregate} ${version}`))
      await compare(client, events.filter(({ aggregate, version }) => !isNew.has(`${aggregate} ${version}`)))
    }
    await writeViews(client, [...new Set(events.map(({ aggregate }) => aggregate))])
  }

  /** @param {import('freshet-feed/systems').Client} client @param {ReturnType<typeof eventOf>[]} events that were there already */
  async function compare (client, events) {
    const { rows } = await client.query(STORED, [events.map(({ aggregate }) => aggregate), events.map(({ version }) => version)])
    const stored = new Map(rows.map(({ aggregate, version, data }) => [`${aggregate} ${version}`, data]))
    for (const { aggregate, version, data } of events) {
      if (isDeepStrictEqual(stored.get(`${aggregate} ${version}`), data)) continue
      onDifferent()
      const sagaId = sagaIdOf(aggregate)
      log.error({ code: 'EVENTS_DIFFER', sagaId, aggregate, version }, 'the database has another event with this number')
    }
  }
}

/** @param {Entry} entry */
const isEvent = ({ fields }) => !SIGNALS.includes(fields.type)

/** @param {Entry} entry */
function eventOf ({ id, key, fields: { ts, request, seq, type, ...data } }) {
  const [ms, n] = id.split('-')
  return { seq: String(BigInt(ms) * SEQ_STEP + BigInt(n)), aggregate: key, version: Number(seq), type, data, ms: Number(ts) }
}

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
const PARTITION_LOCKS = 7_319_403

/**
 * Until the end of the transaction. Without it a rebuild, which has read the events of an aggregate, could replace the row that a writer
 * has made of later ones.
 * @param {import('freshet-feed/systems').Client} client @param {readonly number[]} partitions @param {'shared' | 'exclusive'} mode
 */
const lockPartitions = (client, partitions, mode) =>
  client.query(`SELECT pg_advisory_xact_lock${mode === 'shared' ? '_shared' : ''}($1, one) FROM unnest($2::int[]) AS one`,
    [PARTITION_LOCKS, partitions])

/**
 * Writes the rows of aggregates, as their events say.
 * @param {import('freshet-feed/systems').Client} client @param {readonly string[]} aggregates
 * @returns {Promise<number>} rows that were other ones
 */
async function writeViews (client, aggregates) {
  let changed = 0
  for (const { name, prefix, columns, select } of VIEWS) {
    const viewAggregates = aggregates.filter((aggregate) => aggregate.startsWith(prefix))
    if (viewAggregates.length === 0) continue
    const rowIn = (/** @type {string} */ table) => `(${columns.map((column) => `${table}.${column}`).join(', ')})`
    const { rowCount } = await client.query(`INSERT INTO ${name} (${columns.join(', ')}) ${select} ON CONFLICT (aggregate) DO UPDATE
      SET (${columns.join(', ')}) = ROW ${rowIn('excluded')} WHERE ${rowIn(name)} IS DISTINCT FROM ${rowIn('excluded')}`, [viewAggregates])
    changed += Number(rowCount)
  }
  return changed
}

const AT_ONCE = 5000
const REBUILD_LOCK = 'freshet orders rebuild'
const ASK_EVERY_MS = 1000

const PAGE = `SELECT DISTINCT aggregate FROM events WHERE partition = $1 AND version <= 1 AND aggregate > $2
  ORDER BY aggregate LIMIT ${AT_ONCE}`

/**
 * Rebuilds the views from the events, while events come in: aggregate by aggregate, many in a transaction, while nothing is written to
 * their partition (lockPartitions).
 * @param {import('freshet-feed/systems').Database} database of at least two connections, one of which holds the lock
 * @param {{ onProgress?: (partition: number, aggregates: number, isDone: boolean) => void }} options
 * @returns {Promise<{ partitions: number, aggregates: number, changed: number }>} `changed`: rows that were not as their events say
 * @throws {FreshetError} REBUILD_RUNNING
 */
export async function rebuildViews (database, options = {}) {
  // a lock that ends with its transaction, however that ends
  return database.transaction(async (client) => {
    const { rows: [{ isFree }] } = await client.query('SELECT pg_try_advisory_xact_lock(hashtext($1)) AS "isFree"', [REBUILD_LOCK])
    if (!isFree) throw new FreshetError('REBUILD_RUNNING', 'another process rebuilds the views of orders; wait until it has ended')
    // the database ends idle transactions
    const timer = setInterval(() => client.query('SELECT 1').catch(() => {}), ASK_EVERY_MS)
    return rebuild(database, options).finally(() => clearInterval(timer))
  })
}

/** @param {import('freshet-feed/systems').Database} database @param {Parameters<typeof rebuildViews>[1]} options */
async function rebuild (database, { onProgress = () => {} } = {}) {
  const { rows } = await database.query('SELECT DISTINCT partition FROM events ORDER BY partition')
  let [aggregates, changed] = [0, 0]
  for (const { partition } of rows) {
    for (let after = ''; ;) {
      const page = (await database.query(PAGE, [partition, after])).rows.map(({ aggregate }) => aggregate)
      if (page.length === 0) break
      changed += await database.transaction(async (client) => {
        await lockPartitions(client, [partition], 'exclusive')
        return writeViews(client, page)
      })
      after = page.at(-1)
      aggregates += page.length
      onProgress(partition, aggregates, false)
    }
    onProgress(partition, aggregates, true)
  }
  for (const { name } of VIEWS) {
    const { rowCount } = await database.query(
      `DELETE FROM ${name} WHERE NOT EXISTS (SELECT FROM events WHERE events.aggregate = ${name}.aggregate)`)
    changed += Number(rowCount)
  }
  return { partitions: rows.length, aggregates, changed }
}
