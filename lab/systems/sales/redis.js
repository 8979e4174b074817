/** Sales on the server without a script: SADD of the user, DECR of the stock, and compensation when it was too much. */
import { openConnection } from '../../../src/store/index.js'

export const REDIS_ARMS = Object.freeze(['redis-decr'])
const DEADLINE_MS = 20_000

/**
 * @param {string} _technique @param {{ redisUrl: string, keyPrefix: string }} place
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openRedisArm (_technique, { redisUrl, keyPrefix }) {
  const connection = await openConnection(redisUrl, { name: 'lab-sales', deadlineMs: DEADLINE_MS })
  const key = (/** @type {string} */ sale, /** @type {string} */ part) => `${keyPrefix}{lab}:${part}:${sale}`

  return {
    async create (sale, stock) { await connection.send('SET', key(sale, 'stock'), stock) },

    async claim (sale, user) {
      const isNew = Number(await connection.send('SADD', key(sale, 'users'), user)) === 1
      if (!isNew) return { status: 409, body: { code: 'SALE_ALREADY_CLAIMED' } }
      if (Number(await connection.send('DECR', key(sale, 'stock'))) >= 0) return { status: 201, body: { status: 'sold' } }
      await connection.send('INCR', key(sale, 'stock'))
      await connection.send('SREM', key(sale, 'users'), user)
      return { status: 409, body: { code: 'SALE_SOLD_OUT' } }
    },

    look: async (sale) => ({ available: Number(await connection.send('GET', key(sale, 'stock'))) }),

    async stored (sale) {
      const users = (await connection.send('SMEMBERS', key(sale, 'users'))).map(String)
      return { sold: users.length, rows: users.map((/** @type {string} */ user) => ({ user, seq: null })) }
    },

    async close () { connection.close('') }
  }
}
