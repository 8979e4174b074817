/** MariaDB behind the interface of src/sql, for the same ways of selling: the published study had MySQL. */
import { FreshetError } from '../../errors.js'

const DUPLICATE = { errno: 1062, sqlState: '23505' }

/** `$2, $1` as `?, ?`, with the values in the order in which they stand. @param {string} text @param {unknown[]} values */
function placed (text, values) {
  /** @type {any[]} */
  const inOrder = []
  const sql = text.replace(/\$(\d+)/g, (_, n) => {
    inOrder.push(values[n - 1])
    return '?'
  })
  return { sql, inOrder }
}

/** @param {Error & { errno?: number, sqlState?: string }} error @returns {never} */
function refuse (error) {
  throw new FreshetError('DATABASE_REFUSED', `the database rejected the statement: ${error.message}`,
    { sqlState: error.errno === DUPLICATE.errno ? DUPLICATE.sqlState : error.sqlState, cause: error })
}

/**
 * @param {{ url: string, max: number }} options `max`: connections
 * @returns {Promise<Pick<import('../../../src/sql/index.js').Database, 'query' | 'transaction' | 'figures' | 'close'>>}
 */
export async function openMariadb ({ url, max }) {
  const { createPool } = await import('mysql2/promise')
  const pool = createPool({ uri: url, connectionLimit: max })
  let waiting = 0
  let inUse = 0
  /** @param {import('mysql2/promise').Connection} connection @returns {import('../../../src/sql/index.js').Client} */
  const clientOf = (connection) => ({
    async query (text, values = []) {
      const { sql, inOrder } = placed(text, values)
      const [rows] = /** @type {any[]} */ (await connection.query(sql, inOrder).catch(refuse))
      return Array.isArray(rows) ? { rows, rowCount: rows.length } : { rows: [], rowCount: rows.affectedRows }
    }
  })

  /** @template T @param {(connection: import('mysql2/promise').PoolConnection) => Promise<T>} run */
  async function connected (run) {
    waiting++
    const connection = await pool.getConnection().finally(() => { waiting-- })
    inUse++
    try {
      return await run(connection)
    } finally {
      inUse--
      connection.release()
    }
  }

  return {
    query: (text, values) => connected((connection) => clientOf(connection).query(text, values)),
    transaction: (run) => connected(async (connection) => {
      await connection.beginTransaction()
      try {
        const result = await run(clientOf(connection))
        await connection.commit()
        return result
      } catch (error) {
        await connection.rollback()
        throw error
      }
    }),
    figures: () => ({ total: max, idle: max - inUse, waiting }),
    close: () => pool.end()
  }
}
