/** Which partitions of orders a process of consumers owns. */
import { admissionKey } from '../../../src/admission/index.js'
import { queryNode } from '../../servers/query.js'
import { numbersTo } from '../pace.js'
import { PARTITIONS } from './techniques.js'

const DEADLINE_MS = 20_000

/**
 * @param {{ technique: string, redisUrl: string, keyPrefix: string }} order @param {number} pid
 * @returns {Promise<number[]>}
 */
export const partitionsOf = ({ technique, redisUrl, keyPrefix }, pid) => queryNode(redisUrl, async (connection) => {
  const all = numbersTo(PARTITIONS[technique])
  const ids = await connection.sendAll(all.map((partition) =>
    ['HGET', admissionKey(keyPrefix, 'orders', partition, all.length)('owner'), 'id']))
  // host-pid-random (writers/consumers.js)
  return all.filter((partition) => String(ids[partition]).split('-').at(-2) === String(pid))
}, { deadlineMs: DEADLINE_MS })
