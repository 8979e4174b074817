/** Parked sagas: the owner of each gave up, and wrote a dead letter. */
import { eventsOf } from '../../admission/index.js'

/** the consumer of dead letters of orders */
const CONSUMER = 'saga'

/**
 * @param {Pick<import('../reading.js').Place, 'partitions' | 'connectionOf' | 'keyOf'>} place @param {number} limit
 * @returns {Promise<string[]>} keys of orders
 */
export async function stuckKeys ({ partitions, connectionOf, keyOf }, limit) {
  const letters = await Promise.all(Array.from({ length: partitions }, async (_, partition) =>
    eventsOf(await connectionOf(partition, false).send('XRANGE', keyOf(partition)('dead'), '-', '+', 'COUNT', limit))))
  const keys = letters.flat().filter(({ consumer }) => consumer === CONSUMER).map(({ key }) => key)
  return [...new Set(keys)].slice(0, limit)
}

/**
 * Whether a dead letter must be kept, because only it leads to a parked order.
 * @param {{ consumer: string }} letter @param {import('../../admission/index.js').Fields} state of its key
 */
export const isLetterNeeded = ({ consumer }, { parked = '' }) => consumer === CONSUMER && parked !== ''
