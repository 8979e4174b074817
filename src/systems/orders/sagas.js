/**
 * Which orders are being driven, and which their owner gave up, of all partitions.
 *
 * @typedef {{ partitions: number, connectionOf: (partition: number, isPrimary: boolean) => import('../../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string }} Place
 */
import { fieldsOf } from '../../admission/index.js'

/** the consumer of dead letters of orders */
const CONSUMER = 'saga'
/** scheduled tasks read of a partition, the first due first */
const MAX_TASKS = 1000

/**
 * @template T @param {Place} place
 * @param {(connection: import('../../store/index.js').Connection, key: (part: string) => string) => Promise<T[]>} read
 */
const ofEach = async ({ partitions, connectionOf, keyOf }, read) => (await Promise.all(Array.from({ length: partitions },
  (_, partition) => read(connectionOf(partition, false), keyOf(partition))))).flat()

/** Keys of orders with the scheduled task `run`. @param {Place} place @param {number} limit @returns {Promise<string[]>} */
export async function running (place, limit) {
  const keys = await ofEach(place, async (connection, key) => {
    const tasks = await connection.send('ZRANGE', key('tasks'), 0, MAX_TASKS - 1)
    const parts = tasks.map((/** @type {unknown} */ one) => String(one).split(' '))
    return parts.flatMap((/** @type {string[]} */ [rule, name, op]) => rule === 'step' && op === 'run' ? [name] : [])
  })
  return keys.slice(0, limit)
}

/** Keys of orders with a dead letter of their owner. @param {Place} place @param {number} limit @returns {Promise<string[]>} */
export async function stuck (place, limit) {
  const keys = await ofEach(place, async (connection, key) => {
    const letters = await connection.send('XRANGE', key('dead'), '-', '+', 'COUNT', limit)
    return letters.map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String)))
      .flatMap((/** @type {import('../../admission/index.js').Fields} */ one) => one.consumer === CONSUMER ? [one.key] : [])
  })
  return [...new Set(keys)].slice(0, limit)
}

/**
 * Whether a dead letter must be kept, because only it leads to a parked order.
 * @param {{ consumer: string }} letter @param {import('../../admission/index.js').Fields} state of its key
 */
export const isLetterNeeded = ({ consumer }, { parked = '' }) => consumer === CONSUMER && parked !== ''
