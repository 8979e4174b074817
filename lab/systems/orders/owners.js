/** Which partitions of orders a process of consumers owns. */
import { admissionKey } from '../../../src/admission/index.js'
import { openConnection } from '../../../src/store/index.js'
import { PARTITIONS } from './techniques.js'

const DEADLINE_MS = 20_000

/**
 * @param {{ technique: string, redisUrl: string, keyPrefix: string }} order @param {number} pid
 * @returns {Promise<number[]>}
 */
export async function partitionsOf ({ technique, redisUrl, keyPrefix }, pid) {
  const stop = new AbortController()
  const connection = await openConnection(redisUrl, { name: 'lab-owners', deadlineMs: DEADLINE_MS, signal: stop.signal })
  try {
    const all = Array.from({ length: PARTITIONS[technique] }, (_, partition) => partition)
    const ids = await connection.sendAll(all.map((partition) =>
      ['HGET', admissionKey(keyPrefix, 'orders', partition, all.length)('owner'), 'id']))
    // host-pid-random (writers/consumers.js)
    return all.filter((partition) => String(ids[partition]).split('-').at(-2) === String(pid))
  } finally {
    stop.abort()
    connection.close()
  }
}
