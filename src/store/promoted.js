/**
 * Which replica of a primary that is away took over. Asking them for their roles shows a failover at once, and costs no request for the
 * map of the cluster.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from './connection.js'

const LOOK_MS = 100
const LOOK_FOR_MS = 15_000
const DEADLINE_MS = 1000

/**
 * @param {string[]} urls of the replicas
 * @param {{ map: import('./slot-map.js').SlotMap, isAway: () => boolean }} parts `isAway`: false ends it
 * @returns {Promise<string | null>} null = none of them did
 */
export const firstPromoted = (urls, parts) => Promise.any(urls.map((url) => untilPromoted(url, parts))).catch(() => null)

/** @param {string} url @param {Parameters<typeof firstPromoted>[1]} parts @returns {Promise<string>} the same; rejects if it is not */
async function untilPromoted (url, { map, isAway }) {
  const connection = await openConnection(url, { name: 'freshet-slots', deadlineMs: DEADLINE_MS, map })
  const endMs = performance.now() + LOOK_FOR_MS
  try {
    while (isAway() && performance.now() < endMs) {
      if (String((await connection.send('ROLE'))[0]) === 'master') return url
      await sleep(LOOK_MS, undefined, { ref: false })
    }
    throw new Error('it is a replica still')
  } finally {
    connection.close()
  }
}
