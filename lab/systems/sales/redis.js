/**
 * Sales on the server with a set of users and a counter.
 *
 *     redis-decr   SADD of the user, DECR of the stock, and compensation when it was too much, one by one
 *     redis-row    the same in one script, then the INSERT of the order before the reply: as published
 */
import { openConnection } from '../../../src/store/index.js'
import { openDatabaseArm } from './database.js'

/** technique -> that of the database which has its rows @type {Readonly<Record<string, string | null>>} */
export const REDIS_ARMS = Object.freeze({ 'redis-decr': null, 'redis-row': 'mariadb-lock' })
const DEADLINE_MS = 20_000
const TAKE = `if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then return 'SALE_ALREADY_CLAIMED' end
if redis.call('DECR', KEYS[2]) >= 0 then return 'sold' end
redis.call('INCR', KEYS[2])
redis.call('SREM', KEYS[1], ARGV[1])
return 'SALE_SOLD_OUT'`

/** @param {string} technique @param {import('./techniques.js').Place} place @returns {Promise<import('./techniques.js').Technique>} */
export async function openRedisArm (technique, { redisUrl, keyPrefix, ...place }) {
  const connection = await openConnection(redisUrl, { name: 'lab-sales', deadlineMs: DEADLINE_MS })
  const key = (/** @type {string} */ sale, /** @type {string} */ part) => `${keyPrefix}{lab}:${part}:${sale}`
  const withRows = REDIS_ARMS[technique]
  const rows = withRows === null ? null : await openDatabaseArm(withRows, place)
  const outcomeOf = (/** @type {string} */ code) =>
    code === 'sold' ? { status: 201, body: { status: code } } : { status: 409, body: { code } }

  /** @param {string} sale @param {string} user */
  async function step (sale, user) {
    if (Number(await connection.send('SADD', key(sale, 'users'), user)) === 0) return 'SALE_ALREADY_CLAIMED'
    if (Number(await connection.send('DECR', key(sale, 'stock'))) >= 0) return 'sold'
    await connection.send('INCR', key(sale, 'stock'))
    await connection.send('SREM', key(sale, 'users'), user)
    return 'SALE_SOLD_OUT'
  }

  return {
    async create (sale, stock) { await connection.send('SET', key(sale, 'stock'), stock) },

    async claim (sale, user) {
      if (!rows) return outcomeOf(await step(sale, user))
      const code = String(await connection.send('EVAL', TAKE, 2, key(sale, 'users'), key(sale, 'stock'), user))
      if (code === 'sold') await rows.insert(sale, user)
      return outcomeOf(code)
    },

    look: async (sale) => ({ available: Number(await connection.send('GET', key(sale, 'stock'))) }),

    async stored (sale) {
      if (rows) return rows.stored(sale)
      const users = (await connection.send('SMEMBERS', key(sale, 'users'))).map(String)
      return { sold: users.length, rows: users.map((/** @type {string} */ user) => ({ user, seq: null })) }
    },

    async close () {
      connection.close('')
      await rows?.close()
    }
  }
}
