/**
 * Makes a cluster of running servers, by plain commands: the pinned engine has no command-line client. The slots are split evenly, and
 * each primary gets the same number of replicas.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection, SLOTS } from '../store/index.js'

const DEADLINE_MS = 30_000
const POLL_MS = 20

/** of each node: failovers begin after the first, and one shard that is away does not stop the others */
export const clusterArgs = (/** @type {number} */ busPort) => ['--cluster-enabled', 'yes', '--cluster-port', String(busPort),
  '--cluster-node-timeout', '2000', '--cluster-require-full-coverage', 'no', '--cluster-allow-replica-migration', 'no',
  '--cluster-announce-ip', '127.0.0.1']

/** @typedef {{ url: string, port: number, busPort: number }} Node */

/**
 * @param {Node[]} nodes primaries first; replica i follows primary i modulo their number
 * @param {number} primaries
 * @param {{ isUneven?: boolean }} [options] `isUneven`: the first has all slots but one for each of the others
 * @throws {FreshetError} SERVERS_FAILED after half a minute
 */
export async function formCluster (nodes, primaries, { isUneven = false } = {}) {
  const connections = await Promise.all(nodes.map(({ url }) =>
    openConnection(url, { name: 'freshet-supervisor', deadlineMs: DEADLINE_MS })))
  try {
    const bound = (/** @type {number} */ i) =>
      isUneven ? Math.max(0, SLOTS - (primaries - i)) * Math.sign(i) : Math.round(i * SLOTS / primaries)
    await Promise.all(connections.map((one, i) => one.send('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)))
    await Promise.all(connections.slice(0, primaries).map((one, i) => one.send('CLUSTER', 'ADDSLOTSRANGE', bound(i), bound(i + 1) - 1)))
    for (const { port, busPort } of nodes.slice(1)) await connections[0].send('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
    const tables = connections.map((one) => async () => String(await one.send('CLUSTER', 'NODES')))
    await Promise.all(tables.map((table) => until(async () => {
      const lines = (await table()).trim().split('\n')
      return lines.length === nodes.length && !lines.some((line) => /handshake|noaddr/.test(line))
    }, 'know each other')))
    const ids = await Promise.all(connections.slice(0, primaries).map(async (one) => String(await one.send('CLUSTER', 'MYID'))))
    await Promise.all(connections.slice(primaries).map((one, i) =>
      until(async () => String(await one.send('CLUSTER', 'REPLICATE', ids[i % primaries])) === 'OK', 'follow their primaries')))
    await Promise.all(connections.map((one, i) => until(async () => {
      const [info, replication, slots] = await one.sendAll([['CLUSTER', 'INFO'], ['INFO', 'replication'], ['CLUSTER', 'SLOTS']])
      const isWhole = slots.length === primaries && slots.every((/** @type {any[]} */ row) => row.length - 2 === nodes.length / primaries)
      return /cluster_state:ok/.test(info) && isWhole && (i < primaries || /master_link_status:up/.test(replication))
    }, 'form a cluster')))
  } finally {
    for (const one of connections) one.close()
  }
}

/** @param {() => Promise<boolean>} check may fail for a while @param {string} what */
async function until (check, what) {
  /** @type {Error | undefined} */
  let failure
  for (const endMs = performance.now() + DEADLINE_MS; performance.now() < endMs; await pause(POLL_MS)) {
    try {
      if (await check()) return
    } catch (error) {
      failure = error
    }
  }
  const why = failure ? `: ${failure.message}` : ''
  throw new FreshetError('SERVERS_FAILED', `the servers did not ${what} within ${DEADLINE_MS / 1000} s${why}`)
}
