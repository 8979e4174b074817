/**
 * The queue of the published study: a sorted set by the clock of the gateway, from which a timer admits 10 every 3 s, however many units
 * are left, while people ask every second and time out after 60 s. An order is reported as completed whether a unit was left or not.
 *
 *     queue-timer         who is admitted gets a unit from Redis at once
 *     queue-timer-kafka   the whole published design: a message for each who is admitted, and its consumer writes the order in the
 *                         database, one after the other
 *
 * Everything takes a quarter of the published time, here and in people.js, so that a sale takes 15 s: in a tenth, 2,000 people would ask
 * 20,000 times a second, more than two cores answer.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from '../../../src/store/index.js'
import { openDatabaseArm } from './database.js'
import { KAFKA_ARMS, openTopic } from './kafka.js'

export const TIMER_ARMS = Object.freeze(['queue-timer', 'queue-timer-kafka'])
const DEADLINE_MS = 20_000
const ADMIT_EVERY_MS = 750
const ADMITTED = 10
const LOOK_EVERY_MS = 20

/** @param {string} technique @param {import('./techniques.js').Place} place @returns {Promise<import('./techniques.js').Technique>} */
export async function openTimerArm (technique, { redisUrl, keyPrefix, broker, ...place }) {
  const connection = await openConnection(redisUrl, { name: 'lab-timer', deadlineMs: DEADLINE_MS })
  const key = (/** @type {string} */ sale, /** @type {string} */ part) => `${keyPrefix}{lab}:${part}:${sale}`
  const database = technique in KAFKA_ARMS ? await openDatabaseArm(KAFKA_ARMS[technique], place) : null
  const complete = (/** @type {string} */ sale, /** @type {string} */ user) =>
    connection.send('HSET', key(sale, 'status'), user, 'sold')
  const topic = database && await openTopic(String(broker), async ({ key: sale, value: user }) => {
    await database.claim(sale, user, null, '').catch(() => {})
    await complete(sale, user).catch(() => {})
    undecided.delete(user)
  }, true)
  let current = ''
  /** users whose message is in the topic @type {Set<string>} */
  const undecided = new Set()

  async function admit () {
    const sale = current
    if (!sale) return
    const flat = await connection.send('ZPOPMIN', key(sale, 'queue'), ADMITTED)
    for (let i = 0; i < flat.length; i += 2) {
      const user = String(flat[i])
      if (topic) {
        undecided.add(user)
        await topic.send(sale, user).catch(() => undecided.delete(user))
        continue
      }
      if (Number(await connection.send('DECR', key(sale, 'stock'))) >= 0) await connection.send('SADD', key(sale, 'orders'), user)
      await complete(sale, user)
    }
  }
  let admitting = Promise.resolve()
  const timer = setInterval(() => { if (current) admitting = admitting.then(admit).catch(() => {}) }, ADMIT_EVERY_MS)

  return {
    async create (sale, stock) {
      await (database ? database.create(sale, stock) : connection.send('SET', key(sale, 'stock'), stock))
      current = sale
    },

    async claim () { return { status: 403, body: { code: 'SALE_NOT_ADMITTED' } } },

    async join (sale, user) {
      await connection.send('ZADD', key(sale, 'queue'), 'NX', Date.now(), user)
      return { status: 200, body: { status: 'waiting', ticket: user } }
    },

    async place (sale, user) {
      const status = await connection.send('HGET', key(sale, 'status'), user)
      return { status: 200, body: { status: status === null ? 'waiting' : String(status) } }
    },

    async stored (sale) {
      if (database) {
        // what is left of this sale must not delay the next one
        current = ''
        await admitting
        for (const endMs = performance.now() + DEADLINE_MS; undecided.size > 0 && performance.now() < endMs;) await sleep(LOOK_EVERY_MS)
        return database.stored(sale)
      }
      const users = (await connection.send('SMEMBERS', key(sale, 'orders'))).map(String)
      return { sold: users.length, rows: users.map((/** @type {string} */ user) => ({ user, seq: null })) }
    },

    async close () {
      clearInterval(timer)
      await topic?.close()
      await database?.close()
      connection.close('')
    }
  }
}
