/**
 * Sales in PostgreSQL: as published (a lock on the row of the stock), and a better way; and both in MariaDB, because the published study
 * had MySQL. Each writes the order before it replies.
 *
 *     db-lock     SELECT ... FOR UPDATE, look, UPDATE, INSERT, COMMIT
 *     db-atomic   UPDATE ... WHERE available >= 1, INSERT, COMMIT
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { silent } from '../auctions/silent.js'
import { openMariadb } from './mariadb.js'

export const DATABASE_ARMS = Object.freeze(['db-lock', 'db-atomic'])
/** technique -> what it does, in MariaDB @type {Readonly<Record<string, string>>} */
export const MARIADB_ARMS = Object.freeze({ 'mariadb-lock': 'db-lock', 'mariadb-atomic': 'db-atomic' })
const DEADLINE_MS = 60_000
/** connections of those who look */
const LOOKING = 4
const OWN = 'SELECT 1 FROM lab_orders WHERE sale = $1 AND owner = $2'
const TABLES = Object.freeze({
  postgres: [
    'CREATE TABLE IF NOT EXISTS lab_stock (sale text PRIMARY KEY, available int NOT NULL)',
    'CREATE TABLE IF NOT EXISTS lab_orders (id bigint GENERATED ALWAYS AS IDENTITY, sale text, owner text, UNIQUE (sale, owner))'
  ],
  mariadb: [
    'CREATE TABLE IF NOT EXISTS lab_stock (sale varchar(64) PRIMARY KEY, available int NOT NULL)',
    'CREATE TABLE IF NOT EXISTS lab_orders (id bigint AUTO_INCREMENT PRIMARY KEY, sale varchar(64), owner varchar(64), ' +
      'UNIQUE (sale, owner))'
  ]
})
const INSERT = 'INSERT INTO lab_orders (sale, owner) VALUES ($1, $2) RETURNING id'
const SOLD_OUT = Object.freeze({ status: 409, body: { code: 'SALE_SOLD_OUT' } })
const CLAIMED = Object.freeze({ status: 409, body: { code: 'SALE_ALREADY_CLAIMED' } })

/** @typedef {import('../../../src/sql/index.js').Client} Client */

/** @type {Record<string, (client: Client, sale: string) => Promise<boolean>>} whether a unit was taken */
const TAKE = {
  async 'db-lock' (client, sale) {
    const { rows: [{ available }] } = await client.query('SELECT available FROM lab_stock WHERE sale = $1 FOR UPDATE', [sale])
    if (available < 1) return false
    await client.query('UPDATE lab_stock SET available = $2 WHERE sale = $1', [sale, available - 1])
    return true
  },
  async 'db-atomic' (client, sale) {
    const { rowCount } = await client.query('UPDATE lab_stock SET available = available - 1 WHERE sale = $1 AND available >= 1', [sale])
    return rowCount === 1
  }
}

/**
 * @param {string} technique
 * @param {Pick<import('./techniques.js').Place, 'databaseUrl' | 'pool' | 'delayMs' | 'sharesPool'>} place
 * @returns {Promise<import('./techniques.js').Technique & { insert: (sale: string, user: string) => Promise<unknown> }>} `insert`: an order
 */
export async function openDatabaseArm (technique, { databaseUrl, pool, delayMs, sharesPool }) {
  const engine = technique in MARIADB_ARMS ? 'mariadb' : 'postgres'
  const way = MARIADB_ARMS[technique] ?? technique
  const url = String(databaseUrl)
  // every experiment imports this file
  const { openDatabase } = await import('../../../src/sql/index.js')
  const open = (/** @type {number} */ max) => engine === 'mariadb'
    ? openMariadb({ url, max })
    : openDatabase({ url, name: 'lab', max, deadlineMs: DEADLINE_MS, log: silent })
  const database = await open(pool)
  const looking = sharesPool ? database : await open(LOOKING)
  for (const table of TABLES[engine]) await database.query(table)
  let [busy, waiting] = [0, 0]

  /** @param {Client} client @returns {Client} */
  const delayed = (client) => ({
    async query (text, values) {
      await sleep(delayMs)
      return client.query(text, values)
    }
  })

  return {
    async create (sale, stock) { await database.query('INSERT INTO lab_stock VALUES ($1, $2)', [sale, stock]) },

    async claim (sale, user) {
      const work = database.transaction(async (bare) => {
        const client = delayMs > 0 ? delayed(bare) : bare
        if (!await TAKE[way](client, sale)) {
          // as published, it is not checked who has one
          if (way === 'db-lock') return SOLD_OUT
          return (await client.query(OWN, [sale, user])).rowCount === 1 ? CLAIMED : SOLD_OUT
        }
        const { rows: [{ id }] } = await client.query(INSERT, [sale, user])
        return { status: 201, body: { status: 'sold', seq: Number(id) } }
      })
      const figures = database.figures()
      busy = Math.max(busy, figures.total - figures.idle)
      waiting = Math.max(waiting, figures.waiting)
      return work.catch((error) => {
        if (error.code === 'DATABASE_REFUSED' && error.sqlState === '23505') return CLAIMED
        throw error
      })
    },

    insert: (sale, user) => database.query(INSERT, [sale, user]),

    async look (sale) {
      const { rows: [row] } = await looking.query('SELECT available FROM lab_stock WHERE sale = $1', [sale])
      return row
    },

    async stored (sale) {
      const { rows } = await database.query('SELECT id, owner FROM lab_orders WHERE sale = $1', [sale])
      return { sold: rows.length, rows: rows.map(({ id, owner }) => ({ user: owner, seq: Number(id) })) }
    },

    figures: () => ({ busy, waiting }),
    async close () {
      await database.close()
      if (!sharesPool) await looking.close()
    }
  }
}
