/**
 * Rebuilds the views from the events, while events come in: shadow tables are filled, then the rows of one partition after the other are
 * replaced in a transaction, while nothing is written to that partition (lockPartition).
 */
import { FreshetError } from './errors.js'
import { lockPartition, VIEWS, writeViews } from './views.js'

const AT_ONCE = 5000
const LOCK = 'freshet orders rebuild'
const ASK_EVERY_MS = 1000
const shadowOf = (/** @type {import('./views.js').View} */ { name }) => `${name}_rebuilt`

const PAGE = `SELECT DISTINCT aggregate FROM events WHERE partition = $1 AND version <= 1 AND aggregate > $2
  ORDER BY aggregate LIMIT ${AT_ONCE}`
const SINCE = 'SELECT DISTINCT aggregate FROM events WHERE partition = $1 AND id > $2'
const LAST = 'SELECT coalesce(max(id), 0) AS id FROM events WHERE partition = $1'

/**
 * @param {import('../../consumers/index.js').Database} database of at least two connections, one of which holds the lock
 * @param {{ onProgress?: (partition: number, aggregates: number, isDone: boolean) => void }} options
 * @returns {Promise<{ partitions: number, aggregates: number, changed: number }>} `changed`: rows that were not as their events say
 * @throws {FreshetError} REBUILD_RUNNING
 */
export async function rebuildViews (database, options = {}) {
  // a lock that ends with its transaction, however that ends
  return database.transaction(async (client) => {
    const { rows: [{ isFree }] } = await client.query('SELECT pg_try_advisory_xact_lock(hashtext($1)) AS "isFree"', [LOCK])
    if (!isFree) throw new FreshetError('REBUILD_RUNNING', 'another process rebuilds the views of orders; wait until it has ended')
    // the database ends idle transactions
    const timer = setInterval(() => client.query('SELECT 1').catch(() => {}), ASK_EVERY_MS)
    return rebuild(database, options).finally(() => clearInterval(timer))
  })
}

/** @param {import('../../consumers/index.js').Database} database @param {Parameters<typeof rebuildViews>[1]} options */
async function rebuild (database, { onProgress = () => {} } = {}) {
  for (const view of VIEWS) {
    await database.query(`DROP TABLE IF EXISTS ${shadowOf(view)}`)
    await database.query(`CREATE UNLOGGED TABLE ${shadowOf(view)} (LIKE ${view.name} INCLUDING INDEXES)`)
  }
  const { rows } = await database.query('SELECT DISTINCT partition FROM events ORDER BY partition')
  let [aggregates, changed] = [0, 0]
  for (const { partition } of rows) {
    const { rows: [{ id }] } = await database.query(LAST, [partition])
    for (let after = ''; ;) {
      const page = (await database.query(PAGE, [partition, after])).rows.map((row) => row.aggregate)
      if (page.length === 0) break
      await database.transaction((client) => writeViews(client, page, shadowOf))
      after = page.at(-1)
      aggregates += page.length
      onProgress(partition, aggregates, false)
    }
    changed += await database.transaction((client) => swap(client, { partition, id }))
    onProgress(partition, aggregates, true)
  }
  for (const view of VIEWS) await database.query(`DROP TABLE ${shadowOf(view)}`)
  return { partitions: rows.length, aggregates, changed }
}

/**
 * @param {import('../../consumers/index.js').SqlClient} client @param {{ partition: number, id: string }} from `id` of
 *   the last event when the shadow was begun
 * @returns {Promise<number>} rows that differ
 */
async function swap (client, { partition, id }) {
  await lockPartition(client, partition, 'exclusive')
  const since = (await client.query(SINCE, [partition, id])).rows.map(({ aggregate }) => aggregate)
  await writeViews(client, since, shadowOf)
  let changed = 0
  for (const view of VIEWS) {
    const columns = view.columns.join(', ')
    const of = (/** @type {string} */ table) => `SELECT ${columns} FROM ${table} WHERE partition = ${partition}`
    const { rows: [{ n }] } = await client.query(`SELECT count(*) AS n FROM
      ((${of(shadowOf(view))} EXCEPT ALL ${of(view.name)}) UNION ALL (${of(view.name)} EXCEPT ALL ${of(shadowOf(view))})) AS different`)
    changed += Number(n)
    await client.query(`DELETE FROM ${view.name} WHERE partition = ${partition}`)
    await client.query(`INSERT INTO ${view.name} (${columns}) ${of(shadowOf(view))}`)
  }
  return changed
}
