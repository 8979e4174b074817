/**
 * Rebuilds the views from the events, while events come in: aggregate by aggregate, many in a transaction, while nothing is written to
 * their partition (lockPartitions).
 */
import { FreshetError } from './errors.js'
import { lockPartitions, VIEWS, writeViews } from './views.js'

const AT_ONCE = 5000
const LOCK = 'freshet orders rebuild'
const ASK_EVERY_MS = 1000

const PAGE = `SELECT DISTINCT aggregate FROM events WHERE partition = $1 AND version <= 1 AND aggregate > $2
  ORDER BY aggregate LIMIT ${AT_ONCE}`

/**
 * @param {import('freshet-feed/systems').Database} database of at least two connections, one of which holds the lock
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
