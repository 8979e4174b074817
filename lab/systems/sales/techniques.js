/**
 * Ways to sell units, behind one interface, as a gateway of the lab serves them (gateway-process.js).
 *
 * @typedef {{ status: number, body: Record<string, any> }} Reply
 * @typedef {{ redisUrl: string, databaseUrl: string | null, broker: string | null, keyPrefix: string, pool: number, delayMs: number,
 *   holdMs: number, sharesPool: boolean }} Place `delayMs` of each statement of the database, as of one that is further away; `sharesPool`:
 *   those who look use the connections of claims; `broker`: its address
 * @typedef {object} Technique
 * @property {(sale: string, stock: number) => Promise<void>} create
 * @property {(sale: string, user: string, ticket: string | null, requestId: string) => Promise<Reply>} claim
 * @property {(sale: string, user: string, requestId: string) => Promise<Reply>} [issue] a token
 * @property {(sale: string, user: string, requestId: string) => Promise<Reply>} [join] the queue
 * @property {(sale: string, user: string, ticket: string, waitMs: number) => Promise<Reply>} [place] in the queue
 * @property {(sale: string) => Promise<object>} [look] at the numbers of a sale, as those who do not buy
 * @property {(sale: string) => Promise<{ sold: number, rows: { user: string, seq: number | null }[] }>} stored `seq`: null = none
 * @property {() => Record<string, number>} [figures] of connections to the database
 * @property {() => Promise<void>} close
 */
import { DATABASE_ARMS, MARIADB_ARMS, openDatabaseArm } from './database.js'
import { ENGINE_ARMS, openEngineArm } from './engine.js'
import { KAFKA_ARMS, openKafkaArm } from './kafka.js'
import { openRedisArm, REDIS_ARMS } from './redis.js'
import { openTimerArm, TIMER_ARMS } from './timer.js'

export const TECHNIQUES = Object.freeze(['noop', ...DATABASE_ARMS, ...Object.keys(MARIADB_ARMS), ...Object.keys(REDIS_ARMS),
  ...Object.keys(ENGINE_ARMS), ...new Set([...TIMER_ARMS, ...Object.keys(KAFKA_ARMS)])])

/** Built as in the published study, with its faults. @param {string} technique */
export const isAsPublished = (technique) => ['db-lock', 'mariadb-lock', 'redis-row', 'queue-kafka-db', ...TIMER_ARMS].includes(technique)

/** What people do with it. @param {string} technique @returns {'direct' | 'token' | 'queue' | 'queue with token' | 'polled queue'} */
export function modeOf (technique) {
  if (TIMER_ARMS.includes(technique)) return 'polled queue'
  if (technique in KAFKA_ARMS) return 'queue'
  if (ENGINE_ARMS[technique]?.givesToken) return 'queue with token'
  return ENGINE_ARMS[technique]?.mode ?? 'direct'
}

/** In the memory of the gateway: nothing is decided but whether a unit is left. @returns {Technique} */
function openNoop () {
  /** @type {Map<string, { left: number, rows: { user: string, seq: number }[] }>} */
  const sales = new Map()
  const saleOf = (/** @type {string} */ id) => /** @type {any} */ (sales.get(id))
  return {
    async create (id, stock) { sales.set(id, { left: stock, rows: [] }) },
    async claim (id, user) {
      const sale = saleOf(id)
      if (sale.left <= 0) return { status: 409, body: { code: 'SALE_SOLD_OUT' } }
      sale.left--
      const seq = sale.rows.push({ user, seq: sale.rows.length + 1 })
      return { status: 201, body: { status: 'sold', seq } }
    },
    look: async (id) => ({ available: sales.get(id)?.left ?? null }),
    stored: async (id) => ({ sold: saleOf(id).rows.length, rows: saleOf(id).rows }),
    async close () {}
  }
}

/** @param {string} technique one of TECHNIQUES @param {Place} place @returns {Promise<Technique>} */
export async function openTechnique (technique, place) {
  if (technique === 'noop') return openNoop()
  if (DATABASE_ARMS.includes(technique) || technique in MARIADB_ARMS) return openDatabaseArm(technique, place)
  if (technique in REDIS_ARMS) return openRedisArm(technique, place)
  if (TIMER_ARMS.includes(technique)) return openTimerArm(technique, place)
  return technique in KAFKA_ARMS ? openKafkaArm(technique, place) : openEngineArm(technique, place)
}
